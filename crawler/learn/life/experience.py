"""Experience: how rules of each family ended on the hosts of a store, as priors and for people."""

from sqlalchemy import Connection

from canonry.crawler.learn.life.lifecycle import clean_paths, has_paths, standing
from canonry.crawler.learn.life.prior import Prior, fit, lower_quantile
from canonry.crawler.learn.life.thresholds import Threshold, Thresholds
from canonry.crawler.plurals import agreement, counted
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule


def priors_for(connection: Connection, thresholds: Thresholds) -> dict[str, Prior]:
    """Return what is expected of each family: the shipped experience, and that of a store.

    Args:
        connection: of the store.
        thresholds: with the shipped experience.
    """
    cases = rule_rows.outcomes(connection)
    return {
        name: fit(cases.get(name, ()), limits.prior, limits.hosts)
        for name, limits in thresholds.family.items()
    }


def explain(rule: TrackedRule, threshold: Threshold, prior: Prior) -> str:
    """Return a sentence for people that says how experience counted for a rule.

    Args:
        rule: with its evidence.
        threshold: of its family.
        prior: of its family.
    """
    found = standing(rule, threshold, prior)
    if rule.disagree:
        both = agreement(rule.agree, rule.disagree, " and")
        said = [f"{both}, so experience does not count"]
    else:
        said = [counted(rule.agree, "clean path")]
        if found.by_prior:
            said.append(_of_others(rule, prior, clean_paths(found.bound) - rule.agree))
        else:
            where = "subdomains" if rule.rewrite.subdomains else "a part of a host"
            said.append(f"experience does not count for {where}")
    said.append(f"lower bound {_share(found.bound)} of {_share(found.needed)} needed")
    if has_paths(rule, threshold):
        most = 1 - lower_quantile(rule.agree, rule.disagree + 1)  # Clopper and Pearson (1934)
        said.append(f"by its own paths alone, at most {100 * most:.1f} % are exceptions")
    else:
        said.append(
            f"an active rule needs {threshold.floor} paths by redirects and canonical links, "
            f"or {threshold.content_floor} in all"
        )
    return "; ".join(said)


def _of_others(rule: TrackedRule, prior: Prior, more: float) -> str:
    """Return a sentence about the experience with other hosts."""
    who = "the shipped experience"
    if prior.hosts:
        family = rule.rewrite.family
        who = f"{counted(prior.hosts, 'case')} of {family} in this store, and {who},"
    verb = "count" if prior.hosts else "counts"
    return f"{who} {verb} like {abs(more):.0f} {'more' if more >= 0 else 'fewer'}"


def _share(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")
