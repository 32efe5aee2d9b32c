"""Medians, spread and paired ratios of rounds, some of which may be missing."""

import statistics


def there(values):
    return [value for value in values or [] if value is not None]


def median(values):
    values = there(values)
    return statistics.median(values) if values else None


def spread(values):
    """Returns the distance of the quartiles, relative to the median."""
    values = there(values)
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / abs(middle) if middle else 0.0


def paired(ours, theirs):
    """Returns the median of the ratios of our value to theirs, round by round."""
    ratios = [a / b for a, b in zip(ours or [], theirs or []) if a is not None and b]
    return statistics.median(ratios) if ratios else None


def best(values, names, more_is_better):
    """Returns the participant with the best median, of those that have one."""
    medians = {name: median(values.get(name)) for name in names}
    medians = {name: value for name, value in medians.items() if value is not None}
    if not medians:
        return None
    return (max if more_is_better else min)(medians, key=medians.get)
