/* Rules of practice that act on a URL whose escapes, dots and tracking parameters are done already.
 *
 * Each function does what a row of canon/rules/table.py does (practice.py, archives.py). It works in
 * place and returns the new end, or -1 if it cannot tell: then the plain pipeline answers.
 */
#include "_kernel.h"

enum { MAX_FIELDS = 64 };

/* Decode escapes, also those that decoding produces; escape again what is not allowed. */
static Py_ssize_t decode(const byte *allowed, byte *s, Py_ssize_t n) {
    byte room[ROOM];
    Py_ssize_t used = 0, at = 0;
    if (n > ROOM) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        room[used++] = s[i];
        while (used >= 3 && room[used - 3] == '%' && hex(room[used - 2]) >= 0 && hex(room[used - 1]) >= 0) {
            room[used - 3] = (byte)(hex(room[used - 2]) << 4 | hex(room[used - 1]));
            used -= 2;
        }
    }
    for (Py_ssize_t i = 0; i < used; i++) {
        if (allowed[room[i]]) s[at++] = room[i];
        else if (at + 3 > n) return -1;
        else at = put_escape(s, at, room[i]);
    }
    return at;
}

/* Convert letters to lower case, except for the digits of escapes, which are in upper case; return
 * whether there were any. */
static int lower_letters(byte *s, Py_ssize_t n) {
    int changed = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        byte small = lower(s[i]);
        if (s[i] == '%') i += 2;
        else changed |= small ^ s[i], s[i] = small;
    }
    return changed;
}

/* Return the length that a rule left; if it is another one, the rule acted. */
static Py_ssize_t left_by(int rule, Py_ssize_t before, Py_ssize_t after, int *acted) {
    if (after != before) *acted |= rule;
    return after;
}

/* Replace repeated slashes by one; if ``colons`` is true, by two after a colon. */
static Py_ssize_t fold_slashes(byte *s, Py_ssize_t n, int colons) {
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        int repeated = s[i] == '/' && at && s[at - 1] == '/';
        if (repeated && !(colons && at > 1 && s[at - 2] == ':')) continue;
        s[at++] = s[i];
    }
    return at;
}

/* Return the end of the path without the name of a directory's default document. */
static Py_ssize_t drop_index(const Names *files, const byte *s, Py_ssize_t n) {
    Py_ssize_t name = n;
    while (name && s[name - 1] != '/') name--;
    for (Py_ssize_t i = 0; i < files->count; i++) {
        Name file = files->all[i];
        if (file.length == n - name && !memcmp(s + name, file.text, (size_t)file.length)) return name;
    }
    return n;
}

static Py_ssize_t drop_slashes(const byte *s, Py_ssize_t n) {
    Py_ssize_t end = n;
    while (end && s[end - 1] == '/') end--;
    return end ? end : n; /* the root stays */
}

/* Return 1 if a path may hold a session identifier. */
static int has_session(int rules, const byte *s, Py_ssize_t n) {
    if (rules & SESSION_ID)
        for (const byte *p = s; (p = memchr(p, ';', (size_t)(s + n - p))); p++)
            if (s + n - p > 1 && lower(p[1]) == 'j') return 1; /* ;jsessionid= */
    if (rules & ARCHIVE_SESSION)
        for (const byte *p = s + 1; p < s + n && (p = memchr(p, '(', (size_t)(s + n - p))); p++)
            if (p[-1] == '/') return 1;
    return 0;
}

/* Apply the rules to a path; ``bare`` says that no query follows. Return its length, or -1. */
static Py_ssize_t heuristic_path(const Heuristics *g, int rules, byte *s, Py_ssize_t n, int bare, int *acted) {
    if (rules & DECODE_ESCAPES && memchr(s, '%', (size_t)n)) {
        if ((n = left_by(DECODE_ESCAPES, n, decode(g->path, s, n), acted)) < 0) return -1;
        for (Py_ssize_t i = 1; i < n; i++)
            if (s[i] == '.' && s[i - 1] == '/') return -1; /* perhaps dot segments again */
    }
    if (rules & LETTER_CASE && lower_letters(s, n)) *acted |= LETTER_CASE;
    if (rules & (SESSION_ID | ARCHIVE_SESSION) && has_session(rules, s, n)) return -1;
    if (rules & ALL_SLASHES) n = left_by(ALL_SLASHES, n, fold_slashes(s, n, 0), acted);
    if (rules & DUPLICATE_SLASHES) n = left_by(DUPLICATE_SLASHES, n, fold_slashes(s, n, 1), acted);
    if (rules & INDEX_FILE && bare) n = left_by(INDEX_FILE, n, drop_index(&g->index_files, s, n), acted);
    if (rules & TRAILING_SLASH) n = left_by(TRAILING_SLASH, n, drop_slashes(s, n), acted);
    return n;
}

typedef struct {
    const byte *text;
    Py_ssize_t length, name; /* of the whole field, and of its name */
} Field;

/* Return 1 if a sorts after b: by name, and with ``values`` also by value, where none is first. */
static int is_after(const Field *a, const Field *b, int values) {
    Py_ssize_t least = a->name < b->name ? a->name : b->name;
    int order = memcmp(a->text, b->text, (size_t)least);
    if (order || a->name != b->name) return order ? order > 0 : a->name > b->name;
    if (!values) return 0;
    least = a->length < b->length ? a->length : b->length;
    order = memcmp(a->text, b->text, (size_t)least);
    return order ? order > 0 : a->length > b->length;
}

/* Split a query into fields; return how many they are, or -1 if they are too many. */
static int split_fields(const byte *s, Py_ssize_t n, Field *fields) {
    int count = 0;
    for (Py_ssize_t start = 0; start <= n; count++) {
        if (count == MAX_FIELDS) return -1;
        const byte *stop = memchr(s + start, '&', (size_t)(n - start));
        Py_ssize_t length = (stop ? stop - s : n) - start;
        const byte *sign = memchr(s + start, '=', (size_t)length);
        fields[count] = (Field){s + start, length, sign ? sign - (s + start) : length};
        start += length + 1;
    }
    return count;
}

/* Return 1 for a listed name with a value of 16 to 128 letters and digits, one digit at least. */
static int is_session(const Names *session, const Field *field) {
    Py_ssize_t size = field->length - field->name - 1;
    const byte *value = field->text + field->name + 1;
    int digits = 0, listed = 0;
    if (size < 16 || size > 128) return 0;
    for (Py_ssize_t n = 0; n < session->count && !listed; n++) {
        Py_ssize_t i = 0;
        if (session->all[n].length != field->name) continue;
        while (i < field->name && lower(field->text[i]) == session->all[n].text[i]) i++;
        listed = i == field->name;
    }
    for (Py_ssize_t i = 0; listed && i < size; i++) {
        byte small = lower(value[i]);
        if (value[i] >= '0' && value[i] <= '9') digits = 1;
        else if (small < 'a' || small > 'z') return 0;
    }
    return listed && digits;
}

/* Return 1 if a field may be, or begin, a session identifier that web archives remove. */
static int may_be_session(const Field *field) {
    for (Py_ssize_t i = 3; i < field->length; i++) {
        const byte *sign = field->text + i;
        Py_ssize_t size = field->length - i - 1;
        if (*sign != '=') continue;
        if (size == 24 && i >= 20 && lower(sign[-20]) == 'a' && lower(sign[-9]) == 'd') return 1; /* aspsessionidABCDEFGH */
        if (lower(sign[-1]) != 'd' || lower(sign[-2]) != 'i') continue;
        byte before = lower(sign[-3]);
        if (size == 32 && (before == 's' || before == 'n')) return 1; /* sid, phpsessid; jsessionid */
        if (before == 'f' && i >= 4 && lower(sign[-4]) == 'c') return 1;
    }
    return 0;
}

/* Apply the rules to a query; return its length, or -1. ``dropped`` is set if all fields are gone. */
static Py_ssize_t heuristic_query(const Heuristics *g, int rules, byte *s, Py_ssize_t n, int *dropped, int *acted) {
    Field fields[MAX_FIELDS];
    byte room[ROOM];
    int kept = 0, changed = 0, form = 1;
    if (!n) return n;
    if (rules & DECODE_ESCAPES && memchr(s, '%', (size_t)n) &&
        (n = left_by(DECODE_ESCAPES, n, decode(g->query, s, n), acted)) < 0) return -1;
    if (rules & LETTER_CASE && lower_letters(s, n)) *acted |= LETTER_CASE;
    int count = split_fields(s, n, fields), by_value = rules & ARCHIVE_ORDER;
    if (count < 0 || n > ROOM) return -1;
    for (int i = 0; i < count; i++) {
        Field field = fields[i];
        if (rules & (ARCHIVE_SESSION | ARCHIVE_ORDER) && may_be_session(&field)) return -1;
        if (rules & SESSION_ID && is_session(&g->session, &field)) changed = SESSION_ID;
        else fields[kept++] = field;
    }
    *acted |= changed;
    if (!kept) {
        *dropped = 1;
        return 0;
    }
    for (int i = 0; i < kept && rules & SORTED_QUERY; i++)
        form &= fields[i].length > 1 && memchr(fields[i].text + 1, '=', (size_t)fields[i].length - 1) != NULL;
    if (rules & ARCHIVE_ORDER || (rules & SORTED_QUERY && form)) {
        for (int i = 1; i < kept; i++) { /* insertion sort: stable, and most are sorted */
            Field field = fields[i];
            int j = i;
            for (; j && is_after(&fields[j - 1], &field, by_value); j--) fields[j] = fields[j - 1];
            fields[j] = field;
            if (j != i) changed |= by_value ? ARCHIVE_ORDER : SORTED_QUERY;
        }
    }
    if (!changed) return n;
    *acted |= changed;
    n = 0;
    for (int i = 0; i < kept; i++) {
        if (i) room[n++] = '&';
        memcpy(room + n, fields[i].text, (size_t)fields[i].length);
        n += fields[i].length;
    }
    memcpy(s, room, (size_t)n);
    return n;
}

/* Return the length of a host's first label such as "www2.", if a domain remains that has no such label. */
static Py_ssize_t www(const byte *s, Py_ssize_t n) {
    Py_ssize_t end = 0, again;
    for (int round = 0; round < 2; round++) {
        Py_ssize_t i = end;
        if (n - i < 4 || memcmp(s + i, "www", 3)) break;
        for (i += 3; i < n && s[i] >= '0' && s[i] <= '9';) i++;
        if (i == n || s[i] != '.') break;
        if (round) return 0;
        end = i + 1;
    }
    if (!end) return 0;
    for (again = end; again < n && s[again] != '.';) again++;
    return again > end && again + 1 < n ? end : 0;
}

Py_ssize_t apply_heuristics(const Heuristics *g, int rules, byte *out, Py_ssize_t path, Py_ssize_t query, Py_ssize_t end, int *acted) {
    int dropped = 0;
    if (end > query && rules & ON_QUERIES) {
        Py_ssize_t length = heuristic_query(g, rules, out + query + 1, end - query - 1, &dropped, acted);
        if (length < 0) return -1;
        end = query + 1 + length;
        if (dropped) end = query;
        else if (!length && rules & EMPTY_QUERY) end = query, *acted |= EMPTY_QUERY;
    }
    if (rules & ON_PATHS) {
        Py_ssize_t length = heuristic_path(g, rules, out + path, query - path, end == query, acted);
        if (length < 0) return -1;
        if (length < query - path) {
            memmove(out + path + length, out + query, (size_t)(end - query));
            end -= query - path - length;
        }
    }
    if (rules & (WWW | SCHEME_FOLD)) {
        Py_ssize_t from = out[4] == 's' ? 8 : 7, host_end = path, to = from, skip = 0;
        const byte *port = memchr(out + from, ':', (size_t)(path - from));
        if (port) host_end = port - out;
        else if (rules & SCHEME_FOLD && from == 8) to = 7;
        if (rules & WWW) skip = www(out + from, host_end - from);
        if (skip || to != from) {
            *acted |= (skip ? WWW : 0) | (to != from ? SCHEME_FOLD : 0);
            memcpy(out + to - 3, "://", 3);
            memmove(out + to, out + from + skip, (size_t)(end - from - skip));
            end -= from + skip - to;
        }
    }
    return end;
}
