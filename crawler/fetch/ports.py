"""The ports that may be requested: none that belongs to another protocol."""

from typing import NamedTuple

# "Bad ports" of the Fetch Standard, section 2.9: browsers send no request to them.
_BAD_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
})  # fmt: skip


class PortGroup(NamedTuple):
    """Ports that browsers allow and we do not: what they are, and what a request might do there."""

    name: str
    reason: str
    ports: frozenset[int]


# A port that web servers often use, too (such as 8888 or 9000), is in no group.
PORT_GROUPS = (
    PortGroup(
        "databases and caches",
        "they take lines of text as commands, or count a request as an attack",
        frozenset({
            1433, 1434, 1521, 3050, 3306, 5432, 6379, 6380, 7687, 9042, 11210, 11211, 26257, 26379,
            27017, 27018, 27019, 28015, 29015, 33060,
        }),
    ),
    PortGroup(
        "message queues and coordination",
        "a line may become a message, or a node's command",
        frozenset({
            1883, 2181, 4222, 4369, 4730, 5671, 5672, 6650, 8883, 9092, 9093, 11300, 25672, 61613,
            61616,
        }),
    ),
    PortGroup(
        "logs, metrics and monitoring",
        "each line of a request becomes a record",
        frozenset({2003, 2004, 5044, 5666, 6514, 10050, 10051, 24224}),
    ),
    PortGroup(
        "remote shells, desktops and debuggers",
        "they are for logins, and a request looks like an attempt at one",
        frozenset({
            992, 1098, 1099, 1494, 3283, 3389, 4786, 5037, 5900, 5901, 5902, 5903, 6001, 6002, 6003,
            8009,
        }),
    ),
    PortGroup(
        "files and versions",
        "they serve disks and repositories, not pages",
        frozenset({445, 873, 2401, 3260, 3632, 3690, 9418}),
    ),
    PortGroup(
        "directories, names and tunnels",
        "they answer other servers, or forward what they get",
        frozenset({49, 464, 853, 1080, 1194, 3268, 3269}),
    ),
    PortGroup(
        "chat, mail and telephony",
        "lines of a request may be sent on as messages",
        frozenset({
            24, 194, 209, 994, 1935, 2525, 3478, 5222, 5223, 5269, 5349, 6660, 6661, 6662, 6663,
            6664,
        }),
    ),
    PortGroup(
        "printers and machines",
        "what arrives is printed, or moves something",
        frozenset({502, 2404, 4840, 9100, 9101, 9102, 9103, 44818}),
    ),
)  # fmt: skip

_REFUSED = _BAD_PORTS.union(*(group.ports for group in PORT_GROUPS))


def is_web_port(port: str | None) -> bool:
    """Return True if requests may go to a port; None and "" are the scheme's default."""
    return not port or not port.isdecimal() or int(port) not in _REFUSED
