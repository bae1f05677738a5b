"""THE tables of what the commands print and write as JSON. Schemas and page are made from them."""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from types import MappingProxyType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from canonry.crawler.batch.results import DistinctURL, MappedLine
from canonry.crawler.cli import status_json
from canonry.crawler.cli.crawl import crawl_command, scope_command, settings_command
from canonry.crawler.cli.dedup import dedup_command, keys_command, migrate_command
from canonry.crawler.cli.rules import policy_command, rules_commands, shared_rules
from canonry.crawler.cli.store import queue_commands, store_commands
from canonry.crawler.cli.urls import url_commands
from canonry.crawler.demo.run import DemoResults
from canonry.crawler.inquiry.host_listing import HostListing
from canonry.crawler.inquiry.pattern_listing import (
    ExclusionPreview,
    PatternListing,
)
from canonry.crawler.inquiry.refusal_listing import RefusalListing
from canonry.crawler.inquiry.rule_facts import RuleReport
from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.observe.log import LogLine
from canonry.crawler.relations.redirect_files import RedirectRow
from canonry.storage.clusters.cluster_export import MergedPair
from canonry.storage.clusters.cluster_rows import ClusterRow
from canonry.storage.reading import report
from canonry.storage.timestamps import Moment


class MigratedURL(msgspec.Struct, frozen=True, kw_only=True):
    """A URL with its old key and its new one."""

    old: str
    new: str  # the canonical form
    key: str  # 32 hexadecimal digits
    url: str  # to request
    text: str  # the URL as read


PRINTED: MappingProxyType[str, Any] = MappingProxyType(
    {
        "canon": url_commands.CanonicalJSON | url_commands.RefusedJSON,  # for each line
        "crawl": crawl_command.CrawlJSON,
        "dedup": dedup_command.DedupJSON,
        "demo": DemoResults,
        "explain": url_commands.ExplainJSON,
        "extract": url_commands.ExtractJSON,
        "hosts block": queue_commands.SteeredJSON,
        "hosts list": HostListing,
        "hosts unblock": queue_commands.SteeredJSON,
        "keys diff": keys_command.ComparedKeysJSON,
        "keys from-store": keys_command.WrittenKeysJSON,
        "keys info": keys_command.KeysInfoJSON,
        "keys merge": keys_command.MergedKeysJSON,
        "keys publish": keys_command.PublishedKeysJSON,
        "keys to-store": keys_command.AddedKeysJSON,
        "migrate": migrate_command.MigratedJSON,
        "patterns exclude": ExclusionPreview | queue_commands.SteeredJSON,
        "patterns include": queue_commands.SteeredJSON,
        "patterns list": PatternListing,
        "policy check": policy_command.CheckedPoliciesJSON,
        "policy list": policy_command.PoliciesJSON,
        "policy show": policy_command.PolicyJSON,
        "refused list": RefusalListing,
        "refused release": queue_commands.SteeredJSON,
        "rules convert": shared_rules.ConvertedJSON,
        "rules import": shared_rules.ImportedJSON,
        "rules list": rules_commands.RulesJSON,
        "rules mine": shared_rules.MinedJSON,
        "rules reinstate": rules_commands.ReinstatedJSON,
        "rules revoke": rules_commands.RevokedJSON,
        "rules show": RuleReport,
        "settings": settings_command.SettingsJSON,
        "scope test": scope_command.ScopeJSON,
        "status": status_json.StatusJSON,
        "move": store_commands.MovedJSON,
        "upgrade": store_commands.UpgradeJSON,
        "why": URLAnswer,
    }
)


def _object(row: Any) -> Any:  # noqa: ANN401 - a class of rows, or the type of a value
    """Return what a row, or a value in it, is as JSON: an object, and a time as text."""
    if isinstance(row, type) and (hasattr(row, "_fields") or issubclass(row, msgspec.Struct)):
        fields = [(name, _object(kind)) for name, kind in get_type_hints(row).items()]
        return msgspec.defstruct(
            row.__name__, fields, namespace={"__doc__": row.__doc__, "made_of": row}
        )
    if row is datetime:
        return Moment
    if isinstance(row, UnionType):
        return reduce(or_, map(_object, get_args(row)))
    if get_origin(row) in {list, Sequence}:
        return list[_object(get_args(row)[0])]  # type: ignore[misc]  # made at run time
    return row


# What a line of JSONL is, by the command or the setting that writes it.
ROWS: MappingProxyType[str, Any] = MappingProxyType(
    {
        "crawl.log": LogLine,
        "dedup -o": DistinctURL,
        "dedup --map": MappedLine,
        **{f"export {what}": _object(row) for what, row in report.ROWS.items()},
        "export clusters": _object(ClusterRow),
        "export merges": _object(MergedPair),
        "migrate -o": MigratedURL,
        "redirects": _object(RedirectRow),
    }
)
