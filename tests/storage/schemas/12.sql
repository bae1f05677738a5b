PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE aliases (
	id INTEGER NOT NULL, 
	from_id INTEGER NOT NULL, 
	to_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	status SMALLINT NOT NULL, 
	located TEXT NOT NULL, 
	first_seen FLOAT NOT NULL, 
	last_seen FLOAT NOT NULL, 
	count INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT aliases_edge UNIQUE (from_id, to_id, kind, status), 
	FOREIGN KEY(from_id) REFERENCES "old_urls" (id), 
	FOREIGN KEY(to_id) REFERENCES "old_urls" (id)
);
INSERT INTO aliases VALUES(1,2,1,'redirect',301,'http://a.example/1',10.0,10.0,1);
CREATE TABLE budgets (
	"key" BLOB NOT NULL, 
	pattern TEXT NOT NULL, 
	count BIGINT NOT NULL, excluded SMALLINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE classes (
	"key" BLOB NOT NULL, 
	url_id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE counts (
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	count BIGINT NOT NULL, 
	PRIMARY KEY (kind, name, reason)
);
INSERT INTO counts VALUES('urls','queued','',2);
INSERT INTO counts VALUES('urls','fetched','',1);
INSERT INTO counts VALUES('urls','redirected','',1);
INSERT INTO counts VALUES('urls','failed','timeout',1);
INSERT INTO counts VALUES('urls','held','robots',1);
INSERT INTO counts VALUES('urls','held','too-deep',1);
INSERT INTO counts VALUES('levels','1','',1);
INSERT INTO counts VALUES('levels','2','',1);
INSERT INTO counts VALUES('pages','200','',1);
INSERT INTO counts VALUES('aliases','redirect 301','',1);
CREATE TABLE hosts (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	pending BIGINT NOT NULL, 
	ready_at FLOAT NOT NULL, 
	delay FLOAT, 
	lease_owner TEXT, 
	lease_until FLOAT NOT NULL, blocked SMALLINT DEFAULT 0 NOT NULL, error TEXT, error_at FLOAT, rank INTEGER DEFAULT 0 NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO hosts VALUES(1,'a.example',1,0.0,NULL,NULL,0.0,0,NULL,NULL,0);
INSERT INTO hosts VALUES(2,'b.example',0,0.0,NULL,NULL,0.0,0,'timeout',0.0,0);
INSERT INTO hosts VALUES(3,'c.example',1,0.0,NULL,NULL,0.0,0,NULL,NULL,0);
CREATE TABLE jobs (
	id INTEGER NOT NULL, 
	command TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	state TEXT NOT NULL, 
	started_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	PRIMARY KEY (id)
);
INSERT INTO jobs VALUES(1,'crawl','{}','interrupted',1.0,11.0);
CREATE TABLE merges (
	rules TEXT NOT NULL, 
	count BIGINT NOT NULL, 
	spelling TEXT NOT NULL, 
	same_as TEXT NOT NULL, 
	PRIMARY KEY (rules)
);
INSERT INTO merges VALUES('host-case + fragment',1,'http://A.example/1#x','http://a.example/1');
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO meta VALUES('schema','12');
INSERT INTO meta VALUES('policy','web/1');
INSERT INTO meta VALUES('fingerprint','88aa9080d16872b3');
INSERT INTO meta VALUES('id','a9beab274a224be38daab3ddc9f4db61');
CREATE TABLE pages (
	url_id INTEGER NOT NULL, 
	status SMALLINT NOT NULL, 
	fetched_at FLOAT NOT NULL, 
	elapsed FLOAT NOT NULL, 
	content_type TEXT, 
	size BIGINT NOT NULL, 
	digest BLOB NOT NULL, 
	title TEXT, 
	canonical TEXT, 
	links INTEGER NOT NULL, charset TEXT, etag TEXT, modified TEXT, 
	PRIMARY KEY (url_id), 
	FOREIGN KEY(url_id) REFERENCES "old_urls" (id)
);
INSERT INTO pages VALUES(1,200,10.0,0.10000000000000000555,'text/html',10,X'00000000000000000000000000000000','title',NULL,1,NULL,NULL,NULL);
CREATE TABLE refusals (
	reason TEXT NOT NULL, 
	count BIGINT NOT NULL, 
	sample TEXT NOT NULL, 
	PRIMARY KEY (reason)
);
INSERT INTO refusals VALUES('host',1,'http://[');
CREATE TABLE robots (
	origin TEXT NOT NULL, 
	rules TEXT, 
	expires_at FLOAT NOT NULL, 
	unreachable_since FLOAT, 
	PRIMARY KEY (origin)
);
CREATE TABLE rules (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	lesson TEXT NOT NULL, 
	state TEXT NOT NULL, 
	agree INTEGER NOT NULL, 
	disagree INTEGER NOT NULL, 
	moved INTEGER NOT NULL, 
	first_seen FLOAT NOT NULL, 
	last_seen FLOAT NOT NULL, 
	entered_at FLOAT NOT NULL, 
	spared BIGINT NOT NULL, tests INTEGER DEFAULT 0 NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO rules VALUES('ee7977e6ba','a.example','{"family":"trailing-slash","new":"bare"}','active',30,0,15,5.0,9.0,8.0,7,0);
INSERT INTO rules VALUES('36a9072953','a.example','{"family":"parameter-irrelevant","old":"ref"}','revoked',20,2,10,5.0,9.0,8.0,0,0);
INSERT INTO rules VALUES('bbd7e6086f','a.example','{"family":"parameter-irrelevant","old":"tab"}','candidate',6,0,3,5.0,9.0,8.0,0,0);
INSERT INTO rules VALUES('78c5da2978','a.example','{"family":"letter-case"}','revoked',4,0,2,5.0,9.0,8.0,0,0);
INSERT INTO rules VALUES('74b36d18eb','a.example','{"family":"index-file"}','suspended',12,1,6,5.0,9.0,8.0,7,0);
INSERT INTO rules VALUES('89f747a25a','a.example','{"family":"double-slash"}','candidate',1,0,0,5.0,9.0,8.0,0,0);
CREATE TABLE exports (
	id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	made_at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE members (
	cluster_id BIGINT NOT NULL, 
	url_id BIGINT NOT NULL, 
	said BLOB NOT NULL, 
	changed BIGINT NOT NULL, 
	gone SMALLINT NOT NULL, 
	PRIMARY KEY (cluster_id, url_id)
)
 WITHOUT ROWID

;
CREATE TABLE merge_examples (
	id INTEGER NOT NULL, 
	rules TEXT NOT NULL, 
	spelling TEXT NOT NULL, 
	url_id BIGINT NOT NULL, 
	source_id BIGINT, 
	seen_at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE samples (
	at FLOAT NOT NULL, 
	fetched BIGINT NOT NULL, 
	redirected BIGINT NOT NULL, 
	spared BIGINT NOT NULL, 
	held BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	queued BIGINT NOT NULL, 
	merged_links BIGINT NOT NULL, 
	claims BIGINT NOT NULL, 
	PRIMARY KEY (at)
);
CREATE TABLE keys (
	"key" BLOB NOT NULL, 
	url_id INTEGER NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID

;
INSERT INTO keys VALUES(X'2cd9e224d2e784824bd3fdb69f5fdb67',3);
INSERT INTO keys VALUES(X'5b06f1f98ba6a08967ae7d0f97452379',5);
INSERT INTO keys VALUES(X'67fe91dfbc14cf5482639bf4261e6703',2);
INSERT INTO keys VALUES(X'6e798fea8928e93758eb00c5603c84f0',1);
INSERT INTO keys VALUES(X'8231945c4230472602b53ac8f64682b3',6);
INSERT INTO keys VALUES(X'97b022d5fc938bfaa935dbd91767eadd',7);
INSERT INTO keys VALUES(X'be227e6d1960405db463f9cad759439b',4);
CREATE TABLE pairs (
	rule_id TEXT NOT NULL, 
	pair BLOB NOT NULL, 
	first TEXT NOT NULL, 
	second TEXT NOT NULL, 
	class_url TEXT NOT NULL, 
	verdict SMALLINT NOT NULL, 
	source SMALLINT NOT NULL, 
	answers SMALLINT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (rule_id, pair)
)
 WITHOUT ROWID

;
INSERT INTO pairs VALUES('36a9072953',X'51be9e1f531d03d5dbf098b28477d7bc','http://a.example/x','http://a.example/x?ref=1','http://a.example/x',1,0,1,9.0);
INSERT INTO pairs VALUES('36a9072953',X'58c8f39a18ddd4e8b7831adc0484f2ec','http://a.example/y','http://a.example/y?ref=1','http://a.example/y',2,0,1,9.0);
INSERT INTO pairs VALUES('36a9072953',X'e0d8f1bec653277419dbb86f56a75762','http://a.example/z','http://a.example/z?ref=1','http://a.example/z',2,0,1,9.0);
INSERT INTO pairs VALUES('74b36d18eb',X'83a457f00d49424a5082fc0fe4dfd478','http://a.example/j/','http://a.example/j/index.html','http://a.example/j/',2,0,1,9.0);
INSERT INTO pairs VALUES('74b36d18eb',X'88b6ecfa97eda30d6ec7cb680456e5f1','http://a.example/i/','http://a.example/i/index.html','http://a.example/i/',1,0,1,9.0);
INSERT INTO pairs VALUES('78c5da2978',X'cc4a9ff57a38526dbed134a7190671a0','http://a.example/A','http://a.example/a','http://a.example/a',1,0,1,9.0);
INSERT INTO pairs VALUES('89f747a25a',X'92af740a62c9b214ae376851f26fa07a','http://a.example/a//b','http://a.example/a/b','http://a.example/a/b',1,0,1,9.0);
INSERT INTO pairs VALUES('bbd7e6086f',X'd9b3d129cdf4045d5367b4b0806ae47f','http://a.example/x','http://a.example/x?tab=1','http://a.example/x',1,0,1,9.0);
INSERT INTO pairs VALUES('ee7977e6ba',X'd99198db8435ae8c9136e9d55a6f1435','http://a.example/q','http://a.example/q/','http://a.example/q',1,0,1,9.0);
INSERT INTO pairs VALUES('ee7977e6ba',X'f8013680f96724e9182b77317df64579','http://a.example/p','http://a.example/p/','http://a.example/p',1,0,1,9.0);
CREATE TABLE answers (
	url_id INTEGER NOT NULL, 
	number SMALLINT NOT NULL, 
	host_id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	blocks BLOB, 
	PRIMARY KEY (url_id, number)
);
CREATE TABLE url_rows (
	id INTEGER NOT NULL, 
	source_id BIGINT, 
	due FLOAT NOT NULL, 
	found_at FLOAT NOT NULL, 
	host_id INTEGER NOT NULL, 
	depth SMALLINT NOT NULL, 
	hops SMALLINT NOT NULL, 
	attempts SMALLINT NOT NULL, 
	state SMALLINT NOT NULL, 
	priority SMALLINT NOT NULL, 
	reason TEXT, 
	spelling TEXT, 
	tail TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO url_rows VALUES(1,NULL,10.0,0.0,1,0,0,0,1,0,NULL,NULL,':/1');
INSERT INTO url_rows VALUES(2,NULL,10.0,0.0,1,0,0,0,2,0,NULL,NULL,':/2');
INSERT INTO url_rows VALUES(3,NULL,0.0,0.0,2,0,0,0,3,0,'timeout',NULL,':/');
INSERT INTO url_rows VALUES(4,NULL,0.0,5.0,2,3,0,0,4,0,'too-deep',NULL,':/deep');
INSERT INTO url_rows VALUES(5,NULL,0.0,5.0,2,1,0,0,4,0,'robots',NULL,':/p');
INSERT INTO url_rows VALUES(6,NULL,0.0,0.0,3,2,0,0,0,0,NULL,NULL,':/x');
INSERT INTO url_rows VALUES(7,NULL,0.0,10.0,1,1,0,0,0,0,NULL,NULL,':/3');
CREATE INDEX hosts_with_work ON hosts (lease_until, ready_at);
CREATE UNIQUE INDEX hosts_by_name ON hosts (name);
CREATE INDEX rules_by_host ON rules (host);
CREATE INDEX classes_by_host ON classes (host_id);
CREATE INDEX aliases_by_target ON aliases (to_id);
CREATE INDEX pages_by_digest ON pages (digest);
CREATE INDEX merge_examples_by_rules ON merge_examples (rules, id);
CREATE INDEX aliases_by_status ON aliases (status, kind, id);
CREATE INDEX pages_by_time ON pages (fetched_at, url_id);
CREATE INDEX rules_by_state ON rules (state, spared, id);
CREATE INDEX hosts_by_queue ON hosts (pending, id);
CREATE INDEX hosts_waiting ON hosts (ready_at, id) WHERE pending > 0;
CREATE INDEX hosts_by_error ON hosts (error_at, id) WHERE error_at IS NOT NULL;
CREATE INDEX hosts_blocked ON hosts (id) WHERE blocked > 0;
CREATE INDEX budgets_large ON budgets (count, "key") WHERE count >= 100;
CREATE INDEX budgets_excluded ON budgets ("key") WHERE excluded > 0;
CREATE INDEX answers_by_host ON answers (host_id);
CREATE INDEX urls_queue ON url_rows (host_id, priority, depth) WHERE state = 0;
CREATE INDEX urls_retried ON url_rows (host_id, due) WHERE state = 0 AND reason IS NOT NULL;
CREATE INDEX urls_refused ON url_rows (state, reason, id) WHERE state > 2;
CREATE INDEX urls_led_to ON url_rows (id) WHERE depth = 0 AND hops > 0;
CREATE VIEW urls AS SELECT url_rows.id, CASE
WHEN (substr(url_rows.tail, 1, 1) = '/') THEN 'https://' || (SELECT hosts.name FROM hosts WHERE hosts.id = url_rows.host_id) || url_rows.tail
WHEN (substr(url_rows.tail, 1, 2) = ':/') THEN 'http://' || (SELECT hosts.name FROM hosts WHERE hosts.id = url_rows.host_id) || substr(url_rows.tail, 2)
ELSE url_rows.tail END AS url, url_rows.source_id, url_rows.due, url_rows.found_at, url_rows.host_id, url_rows.depth, url_rows.hops, url_rows.attempts, url_rows.state, url_rows.priority, url_rows.reason, url_rows.spelling FROM url_rows;
COMMIT;
