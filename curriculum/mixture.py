"""From a stage's mixture to whole-number weights of its pools: buckets, up-sampling of long ones, share of vision."""

from collections.abc import Mapping, Sequence

from trivium.curriculum.line import WHOLE, Line
from trivium.curriculum.pools import Pool, Rules, Supply
from trivium.curriculum.stage import PATCHES_A_TOKEN, Stage
from trivium.errors import ConfigError


def stage_lines(stage: Stage, pools: Sequence[Pool], supply: Mapping[str, Supply]) -> list[Line]:
    """The lines that a stage draws from, in the order of `pools`; their weights sum to 2^40.

    `supply` is what each pool holds for the stage. Raises ConfigError when a bucket is unknown, when a corpus or bucket
    of the mixture holds nothing that fits, or when the share of vision can't be reached.
    """
    _check_buckets(stage, pools)
    shares: dict[str, float] = {}
    for corpus, weight in stage.resolved_mixture.items():
        mine = [pool for pool in pools if pool.corpus == corpus and _read(stage, pool)]
        if isinstance(weight, dict):
            found = {pool.bucket: pool for pool in mine if supply[pool.name].tokens}
            for bucket, part in weight.items():
                if bucket not in found:
                    keys = ("stages", stage.name, "mixture", corpus, bucket)
                    raise ConfigError(_nothing(stage, f"bucket {bucket!r} of corpus {corpus!r}"), keys)
                shares[found[bucket].name] = part
            continue
        held = {p.name: supply[p.name].tokens * stage.upsample.get(p.bucket, 1.0) for p in mine}
        total = sum(held.values())
        if not total:
            raise ConfigError(_nothing(stage, f"corpus {corpus!r}"), ("stages", stage.name, "mixture", corpus))
        shares |= {name: weight * tokens / total for name, tokens in held.items() if tokens}
    if stage.vision is not None:
        shares = _with_vision(stage, {pool.name: pool.corpus for pool in pools}, supply, shares)
    whole = _whole(shares)
    rules = Rules.of(stage)
    return [Line(pool, rules, supply[pool.name], whole[pool.name]) for pool in pools if whole.get(pool.name)]


def vision_share(lines: Sequence[Line]) -> float:
    """Picture tokens as a share of all tokens that the lines give."""
    return sum(line.weight / WHOLE * _density(line.supply) for line in lines)


def mean_piece(lines: Sequence[Line]) -> float:
    """Tokens of a piece on average, over pieces as the lines give them."""
    return 1.0 / sum(line.weight / WHOLE * line.supply.pieces / line.supply.tokens for line in lines)


def least_window(lines: Sequence[Line]) -> float:
    """Tokens of a stage that are sure to hold a piece: some line's share of them is its longest piece."""
    return min(line.supply.longest * WHOLE / line.weight for line in lines)


def _read(stage: Stage, pool: Pool) -> bool:
    return stage.buckets is None or pool.bucket in stage.buckets


def _density(supply: Supply) -> float:
    return supply.patches / PATCHES_A_TOKEN / supply.tokens


def _with_vision(
    stage: Stage, corpus_of: Mapping[str, str], supply: Mapping[str, Supply], shares: dict[str, float]
) -> dict[str, float]:
    """The shares with corpora that hold pictures scaled together so that their picture tokens make `stage.vision`.

    With A the pictured corpora's share and V their picture tokens' share, a factor f gives f·V / (f·A + 1 - A).
    """
    wanted = stage.vision or 0.0
    pictured = {corpus_of[name] for name in shares if supply[name].patches}
    scaled = {name for name in shares if corpus_of[name] in pictured}
    area = sum(shares[name] for name in shares if name in scaled)
    seen = sum(shares[name] * _density(supply[name]) for name in shares if name in scaled)
    most = seen / area if area else 0.0
    others = len(scaled) < len(shares)
    if not 0.0 < wanted < most or not others:
        alone = "" if others else "; every corpus of the mixture has pictures, so the share can't be moved"
        raise ConfigError(
            f"stage {stage.name!r}: vision: {wanted:.4g} of the tokens should be picture tokens; the mixture gives "
            f"{seen:.4g}, and its corpora with pictures ({', '.join(sorted(pictured)) or 'none'}) alone would give "
            f"{most:.4g}{alone}: ask for a share between 0 and that, or change the mixture",
            ("stages", stage.name, "vision"),
        )
    factor = wanted * (1.0 - area) / (seen - wanted * area)
    raw = {name: share * (factor if name in scaled else 1.0) for name, share in shares.items()}
    total = sum(raw.values())
    return {name: share / total for name, share in raw.items()}


def _whole(shares: Mapping[str, float]) -> dict[str, int]:
    """Shares as whole parts of 2^40; what rounding leaves goes to the largest."""
    total = sum(shares.values())
    whole = {name: int(share / total * WHOLE) for name, share in shares.items()}
    largest = max(whole, key=lambda name: (whole[name], name))
    whole[largest] += WHOLE - sum(whole.values())
    return whole


def _check_buckets(stage: Stage, pools: Sequence[Pool]) -> None:
    known = {pool.bucket for pool in pools if pool.corpus in stage.mixture}
    for key, named in (("buckets", stage.buckets or ()), ("upsample", stage.upsample)):
        for bucket in named:
            if bucket not in known:
                raise ConfigError(
                    f"stage {stage.name!r}: {key}: no corpus of the mixture has a document in a bucket {bucket!r}; "
                    f"they have {', '.join(sorted(known))}",
                    ("stages", stage.name, key),
                )


def _nothing(stage: Stage, what: str) -> str:
    read = f" in the buckets {', '.join(stage.buckets)}" if stage.buckets else ""
    return (
        f"stage {stage.name!r}: {what} has no training document that fits rows of {stage.context} tokens and "
        f"{stage.patch_budget} patches{read}; raise context or patches, name other buckets, or take it out of the "
        "mixture"
    )
