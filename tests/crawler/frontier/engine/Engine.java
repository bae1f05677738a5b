import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.URLFrontierGrpc.URLFrontierBlockingStub;
import crawlercommons.urlfrontier.URLFrontierGrpc.URLFrontierStub;
import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.DiscoveredURLItem;
import crawlercommons.urlfrontier.Urlfrontier.GetParams;
import crawlercommons.urlfrontier.Urlfrontier.KnownURLItem;
import crawlercommons.urlfrontier.Urlfrontier.QueueWithinCrawlParams;
import crawlercommons.urlfrontier.Urlfrontier.Stats;
import crawlercommons.urlfrontier.Urlfrontier.StringList;
import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A small engine that crawls as Apache StormCrawler does: it gets URLs of every node, fetches them,
 * puts what it finds and what came of it to the node of the host, and counts on acknowledgements.
 *
 * <p>Arguments: nodes (HOST:PORT,HOST:PORT), port of the web, seed. It prints each URL that it
 * fetches, and ends when no node has a URL left.
 */
public final class Engine {
    private static final int SECONDS_OUT = 3;
    private static final int DEEPEST = 12;
    private static final Pattern LINK = Pattern.compile("href=\"([^\"]*)\"");
    private static final Pattern CANONICAL = Pattern.compile("rel=\"canonical\" href=\"([^\"]*)\"");
    private static final Pattern BASE = Pattern.compile("<base href=\"([^\"]*)\"");

    private final List<Node> nodes = new ArrayList<>();
    private final HttpClient web;
    private final ExecutorService fetchers = Executors.newFixedThreadPool(8);

    private Engine(String places, int port) {
        for (String place : places.split(",")) {
            nodes.add(new Node(place));
        }
        web =
                HttpClient.newBuilder()
                        .proxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", port)))
                        .followRedirects(HttpClient.Redirect.NEVER)
                        .build();
    }

    public static void main(String[] words) throws Exception {
        Engine engine = new Engine(words[0], Integer.parseInt(words[1]));
        engine.put(List.of(discovered(words[2], 0)));
        engine.run();
        engine.fetchers.shutdownNow();
        System.out.println("done");
        System.exit(0);
    }

    private void run() throws Exception {
        int idle = 0;
        while (idle < 3) {
            int found = 0;
            for (Node node : nodes) {
                found += fetchFrom(node);
            }
            idle = found == 0 && isEmpty() ? idle + 1 : 0;
            if (found == 0) {
                Thread.sleep(200);
            }
        }
    }

    private boolean isEmpty() {
        for (Node node : nodes) {
            try {
                Stats stats = node.asking().getStats(QueueWithinCrawlParams.getDefaultInstance());
                if (stats.getSize() > 0) {
                    return false;
                }
            } catch (StatusRuntimeException error) {
                return false;
            }
        }
        return true;
    }

    private int fetchFrom(Node node) throws Exception {
        List<URLInfo> due = new ArrayList<>();
        GetParams wish =
                GetParams.newBuilder()
                        .setMaxQueues(10)
                        .setMaxUrlsPerQueue(10)
                        .setDelayRequestable(SECONDS_OUT)
                        .build();
        try {
            node.asking().getURLs(wish).forEachRemaining(due::add);
        } catch (StatusRuntimeException error) {
            Thread.sleep(200);
        }
        CountDownLatch left = new CountDownLatch(due.size());
        for (URLInfo url : due) {
            fetchers.execute(
                    () -> {
                        try {
                            put(visit(url));
                        } catch (Exception error) {
                            System.out.println("error " + url.getUrl() + " " + error);
                        } finally {
                            left.countDown();
                        }
                    });
        }
        left.await(60, TimeUnit.SECONDS);
        return due.size();
    }

    /** Fetches a URL; returns what was found, and then what came of it. */
    private List<URLItem> visit(URLInfo info) throws Exception {
        System.out.println("fetched " + info.getUrl());
        System.out.flush();
        int depth = Integer.parseInt(value(info, "depth", "0"));
        Map<String, String> said = new HashMap<>(Map.of("depth", String.valueOf(depth)));
        List<URLItem> items = new ArrayList<>();
        URI place;
        try {
            place = URI.create(info.getUrl());
        } catch (IllegalArgumentException error) {
            said.put("error.cause", "no URI of Java");
            items.add(known(info, said));
            return items;
        }
        HttpRequest request = HttpRequest.newBuilder(place).timeout(Duration.ofSeconds(20)).build();
        HttpResponse<String> response = web.send(request, HttpResponse.BodyHandlers.ofString());
        said.put("fetch.statusCode", String.valueOf(response.statusCode()));
        String location = response.headers().firstValue("Location").orElse(null);
        if (location != null) {
            String target = resolved(place, location);
            said.put("_redirTo", target);
            items.add(discovered(target, depth));
        } else if (response.statusCode() == 200) {
            Matcher canonical = CANONICAL.matcher(response.body());
            if (canonical.find()) {
                said.put("canonical", resolved(place, unescaped(canonical.group(1))));
            }
            said.put("signature", Integer.toHexString(response.body().hashCode()));
            Matcher base = BASE.matcher(response.body());
            URI from = base.find() ? place.resolve(base.group(1)) : place;
            Matcher links = LINK.matcher(response.body());
            while (links.find() && depth < DEEPEST) {
                String target = resolved(from, unescaped(links.group(1)));
                if (target != null && isWanted(target)) {
                    items.add(discovered(target, depth + 1));
                }
            }
        }
        items.add(known(info, said));
        return items;
    }

    private static boolean isWanted(String url) {
        String rest = url.replaceFirst("(?i)^https?://", "");
        String host = host(url);
        boolean isOurs = host.equals("shop.example") || host.endsWith(".shop.example");
        return isOurs && rest.length() < url.length() && !rest.contains("/private/");
    }

    private static String resolved(URI base, String link) {
        try {
            return base.resolve(link).toString();
        } catch (IllegalArgumentException error) {
            return null;
        }
    }

    private static String unescaped(String text) {
        return text.replace("&quot;", "\"").replace("&#x27;", "'").replace("&amp;", "&").trim();
    }

    private static String host(String url) {
        String rest = url.replaceFirst("(?i)^[a-z]+://", "").replaceFirst("[/?#].*", "");
        return rest.replaceFirst(".*@", "").replaceFirst(":.*", "").toLowerCase().replaceFirst("\\.$", "");
    }

    private static String value(URLInfo info, String name, String otherwise) {
        StringList values = info.getMetadataMap().get(name);
        return values == null ? otherwise : values.getValues(0);
    }

    private static URLItem discovered(String url, int depth) {
        URLInfo info = info(url, host(url), Map.of("depth", String.valueOf(depth)));
        return URLItem.newBuilder()
                .setDiscovered(DiscoveredURLItem.newBuilder().setInfo(info))
                .setID(url)
                .build();
    }

    private static URLItem known(URLInfo found, Map<String, String> said) {
        URLInfo info = info(found.getUrl(), found.getKey(), said);
        return URLItem.newBuilder()
                .setKnown(KnownURLItem.newBuilder().setInfo(info))
                .setID(found.getUrl())
                .build();
    }

    private static URLInfo info(String url, String key, Map<String, String> said) {
        URLInfo.Builder info = URLInfo.newBuilder().setUrl(url).setKey(key);
        said.forEach((k, v) -> info.putMetadata(k, StringList.newBuilder().addValues(v).build()));
        return info.build();
    }

    /** Puts items in their order, and waits until all are acknowledged; tries again until then. */
    private void put(List<URLItem> items) throws Exception {
        Map<Integer, List<URLItem>> byNode = new HashMap<>();
        for (URLItem item : items) {
            URLInfo info = item.hasKnown() ? item.getKnown().getInfo() : item.getDiscovered().getInfo();
            int number = Math.floorMod(Arrays.hashCode(info.getKey().getBytes()), nodes.size());
            byNode.computeIfAbsent(number, any -> new ArrayList<>()).add(item);
        }
        // What was found goes first: a page whose report is stored is not fetched again.
        for (boolean isKnown : new boolean[] {false, true}) {
            for (Map.Entry<Integer, List<URLItem>> entry : byNode.entrySet()) {
                List<URLItem> some = new ArrayList<>();
                for (URLItem item : entry.getValue()) {
                    if (item.hasKnown() == isKnown) {
                        some.add(item);
                    }
                }
                while (!some.isEmpty() && !nodes.get(entry.getKey()).put(some)) {
                    Thread.sleep(100);
                }
            }
        }
    }

    private static final class Node {
        private final URLFrontierBlockingStub blocking;
        private final URLFrontierStub streaming;

        Node(String place) {
            ManagedChannel channel = ManagedChannelBuilder.forTarget(place).usePlaintext().build();
            blocking = URLFrontierGrpc.newBlockingStub(channel).withWaitForReady();
            streaming = URLFrontierGrpc.newStub(channel).withWaitForReady();
        }

        URLFrontierBlockingStub asking() {
            return blocking.withDeadlineAfter(20, TimeUnit.SECONDS);
        }

        /** Returns true if all items were acknowledged, and none has to be sent again. */
        boolean put(List<URLItem> items) throws InterruptedException {
            CountDownLatch over = new CountDownLatch(1);
            Map<Integer, AckMessage.Status> acks = new ConcurrentHashMap<>();
            StreamObserver<URLItem> stream =
                    streaming.withDeadlineAfter(20, TimeUnit.SECONDS).putURLs(
                            new StreamObserver<>() {
                                @Override
                                public void onNext(AckMessage ack) {
                                    acks.put(acks.size(), ack.getStatus());
                                }

                                @Override
                                public void onError(Throwable error) {
                                    over.countDown();
                                }

                                @Override
                                public void onCompleted() {
                                    over.countDown();
                                }
                            });
            try {
                items.forEach(stream::onNext);
                stream.onCompleted();
            } catch (IllegalStateException error) {
                return false;
            }
            over.await(30, TimeUnit.SECONDS);
            return acks.size() == items.size() && !acks.containsValue(AckMessage.Status.FAIL);
        }
    }
}
