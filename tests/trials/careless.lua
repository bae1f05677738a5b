-- What a careless site does to its pages. nginx runs this over the files of a manual; the variables
-- $mix, $ref, $campaign, $sid, $segment, $noise, $parts, $whole and $bare of a virtual host say
-- which habits it has.
local careless = {}

local TEASERS = {
    {"A tour of the old town", "Walk with us along the wall, past the mill and down to the harbour."},
    {"Bread without kneading", "Flour, water, salt and a night of patience are all that it takes."},
    {"The night train returns", "After years of silence sleeping cars cross the mountains again."},
    {"Bees on the roof", "How a library in the north came to sell honey to its readers."},
    {"A clock that runs on rain", "The inventor says that it is late only in very dry summers."},
    {"Letters from the lighthouse", "The last keeper wrote every day, and nobody ever answered him."},
    {"Repair, do not replace", "Volunteers with soldering irons meet on the first Monday."},
}
local REFS = {"nav", "footer", "side", "home"}
local places = {}

-- Read where the parts of each page begin and end; see manuals.py.
function careless.load(path)
    places = dofile(path)
end

local function token()
    return string.format("%08x%08x", math.random(0, 2 ^ 31 - 1), math.random(0, 2 ^ 31 - 1))
end

local function chosen(n, from)
    return from[n % #from + 1]
end

-- Write one link as this site does: another name of the host, another name of a directory,
-- parameters that say nothing. Only the session id differs from one answer to the next.
local function rewritten(site, href)
    href = href:gsub("&#(%d+);", function(code) return string.char(tonumber(code) % 128) end)
    if href == "" or href:find("^%a[%w+.-]*:") or href:find("^[#/?]") then
        return href
    end
    local path, query, fragment = href:match("^([^?#]*)([^#]*)(.*)$")
    local n = ngx.crc32_short(site.uri .. "\n" .. href)
    if site.mix ~= "" and ("/" .. path):find("/index%.html$") then
        local folder = path:gsub("index%.html$", "")
        local names = {path, folder == "" and "./" or folder}
        names[3] = folder:find("%w/$") and folder:sub(1, -2) or nil
        path = chosen(n, names)
    end
    local form = math.floor(n / 64) % 8
    if site.mix ~= "" and form < #site.names then
        path = site.names[form + 1] .. site.folder .. path
    end
    if site.segment then
        path = "/(S(" .. token() .. "))" .. site.folder .. path
    end
    local more = {}
    if site.campaign and n % 5 > 0 then
        more[#more + 1] = "from=" .. REFS[n % 5] .. "&amp;run=" .. math.floor(n / 5) % 90
    end
    if site.ref and n % 5 > 0 then
        more[#more + 1] = "ref=" .. REFS[n % 5]
    end
    if site.sid then
        more[#more + 1] = "sid=" .. token()
    end
    if #more > 0 then
        query = (query == "" and "?" or query .. "&amp;") .. table.concat(more, "&amp;")
    end
    return path .. query .. fragment
end

local function site_of_request()
    local var = ngx.var
    local site = {mix = var.mix, uri = var.uri, folder = var.uri:match("^.*/"), names = {}}
    site.ref, site.sid = var.ref == "1", var.sid == "1"
    site.campaign, site.segment, site.whole = var.campaign == "1", var.segment == "1", var.whole == "1"
    for name in var.mix:gmatch("%S+") do
        site.names[#site.names + 1] = name
    end
    site.places = var.parts == "1" and places[var.request_filename] or nil
    site.part = site.places and tonumber(var.arg_part)
    if site.part and not (site.part >= 1 and site.part <= 3) then
        site.part = nil
    end
    return site
end

-- Leave the frame of a page, its heading too, and only one part of its text.
local function cut(body, site)
    local at, part = site.places, site.part
    local heading = part > 1 and body:match("<[hH]1.-</[hH]1>") or ""
    local text = body:sub(at[part] + 1, at[part + 1])
    return body:sub(1, at[1]) .. heading .. text .. body:sub(at[4] + 1)
end

local function add(body, pattern, text, before)
    local first, last = body:find(pattern)
    if not first then
        return body
    end
    local place = before and first - 1 or last
    return body:sub(1, place) .. text .. body:sub(place + 1)
end

local function page(body)
    local site = site_of_request()
    if site.part then
        body = cut(body, site)
    end
    if site.places then
        local file, links = site.uri:match("[^/]*$"), {}
        for part = site.whole and 0 or 1, 3 do
            links[#links + 1] = string.format('<a href="%s?part=%d">Part %d</a>', file, part, part)
        end
        body = add(body, "</[bB][oO][dD][yY]>", "<p>" .. table.concat(links, " ") .. "</p>", true)
    end
    body = body:gsub("(<[aA]%s[^>]-[hH][rR][eE][fF]=)([\"'])(.-)%2", function(start, quote, href)
        return start .. quote .. rewritten(site, href) .. quote
    end)
    if ngx.var.noise ~= "1" then
        return body
    end
    local canonical = "https://" .. ngx.var.bare .. ngx.escape_uri(site.uri, 0)
    canonical = canonical .. (site.part and "?part=" .. site.part or "")
    body = body:gsub("<link[^>]-rel=[\"']canonical[\"'][^>]*>", "")
    body = add(body, "<[hH][eE][aA][dD][^>]*>", '<link rel="canonical" href="' .. canonical .. '"/>')
    local teaser = chosen(math.random(0, 1000), TEASERS)
    local above = '<div class="teaser"><h3>%s</h3><p>%s</p></div>'
    body = add(body, "<[bB][oO][dD][yY][^>]*>", above:format(teaser[1], teaser[2]))
    local below = '<p>Today is %s. You are reader number %d.</p><form method="post" action="/vote">'
        .. '<input type="hidden" name="token" value="%s"/></form>'
    ngx.update_time()
    local clock = os.date("!%d %B, %H:%M:%S") .. string.format(".%03d", ngx.now() * 1000 % 1000)
    below = below:format(clock, math.random(10000, 99999), token())
    return add(body, "</[bB][oO][dD][yY]>", below, true)
end

local function applies()
    local kind = ngx.header.content_type
    return ngx.status == 200 and type(kind) == "string" and kind:find("^text/html") ~= nil
end

function careless.head()
    if applies() then
        ngx.header.content_length = nil
        if ngx.var.noise == "1" then
            ngx.header.last_modified = nil
            ngx.header.etag = nil
        end
    end
end

function careless.body()
    if not applies() then
        return
    end
    local chunks = ngx.ctx.chunks or {}
    ngx.ctx.chunks = chunks
    chunks[#chunks + 1] = ngx.arg[1]
    ngx.arg[1] = nil
    if ngx.arg[2] then
        ngx.arg[1] = page(table.concat(chunks))
    end
end

return careless
