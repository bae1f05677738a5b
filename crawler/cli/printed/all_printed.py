"""THE tables of what the commands print and write as JSON. Schemas and page are made from them."""

from types import MappingProxyType
from typing import Any

from canonry.crawler.cli.printed import file_json, policy_json, row_json, rule_json, store_json
from canonry.crawler.inquiry.host_listing import HostListing
from canonry.crawler.inquiry.pattern_listing import ExclusionPreview, PatternListing
from canonry.crawler.inquiry.refusal_listing import RefusalListing
from canonry.crawler.inquiry.repeat_listing import RepeatListing
from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.observe.log import LogLine

PRINTED: MappingProxyType[str, Any] = MappingProxyType(
    {
        "canon": file_json.CanonicalJSON | file_json.RefusedJSON,  # for each line
        "crawl": store_json.CrawlJSON,
        "dedup": file_json.DedupJSON,
        "demo": store_json.DemosJSON,
        "explain": file_json.ExplainJSON,
        "extract": file_json.ExtractJSON,
        "hosts block": store_json.BlockedJSON,
        "hosts list": HostListing,
        "hosts unblock": store_json.UnblockedJSON,
        "keys diff": file_json.ComparedKeysJSON,
        "keys from-store": file_json.WrittenKeysJSON,
        "keys info": file_json.KeysInfoJSON,
        "keys merge": file_json.MergedKeysJSON,
        "keys publish": file_json.PublishedKeysJSON,
        "keys to-store": file_json.AddedKeysJSON,
        "migrate": file_json.MigratedJSON,
        "patterns exclude": store_json.ExcludedJSON | ExclusionPreview,
        "patterns include": store_json.IncludedJSON,
        "patterns list": PatternListing,
        "patterns repeats": RepeatListing,
        "policy check": policy_json.CheckedPoliciesJSON,
        "policy list": policy_json.PoliciesJSON,
        "policy show": policy_json.PolicyJSON,
        "refused list": RefusalListing,
        "refused release": store_json.ReleasedJSON,
        "rules convert": rule_json.ConvertedJSON,
        "rules import": rule_json.ImportedJSON,
        "rules list": rule_json.RulesJSON,
        "rules mine": rule_json.MinedJSON,
        "rules reinstate": rule_json.ReinstatedJSON,
        "rules revoke": rule_json.RevokedJSON,
        "rules show": rule_json.ShownRuleJSON,
        "settings": file_json.SettingsJSON,
        "scope test": store_json.ScopeJSON,
        "status": store_json.StatusJSON,
        "move": store_json.MovedJSON,
        "upgrade": store_json.UpgradeJSON,
        "why": URLAnswer,
    }
)

# What a line of JSONL is, by the command or the option that writes it.
ROWS: MappingProxyType[str, type] = MappingProxyType(
    {
        "crawl.log": LogLine,
        "dedup -o": row_json.DistinctURL,
        "dedup --map": row_json.MappedLine,
        "export aliases": row_json.ExportedAlias,
        "export clusters": row_json.ExportedCluster,
        "export merges": row_json.ExportedMerge,
        "export pages": row_json.ExportedPage,
        "export refused": row_json.ExportedRefusal,
        "export rules": row_json.ExportedRule,
        "export similar": row_json.ExportedSimilarPage,
        "export urls": row_json.ExportedURL,
        "migrate -o": row_json.MigratedURL,
    }
)
