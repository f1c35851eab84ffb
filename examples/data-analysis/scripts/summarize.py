"""Summarises one column of a CSV table; arguments as JSON on stdin, the summary as JSON on stdout."""

import csv
import io
import json
import math
import statistics
import sys


def numbers_of(rows, column):
    """The numbers of a column, how many cells are empty, and how many hold something else."""
    numbers, missing, other = [], 0, 0
    for row in rows:
        cell = (row.get(column) or "").strip()
        if not cell:
            missing += 1
            continue
        try:
            number = float(cell)
        except ValueError:
            other += 1
            continue
        if math.isfinite(number):
            numbers.append(number)
        else:
            other += 1
    return numbers, missing, other


def outliers_of(numbers):
    """Numbers further than one and a half interquartile ranges from the middle half."""
    if len(numbers) < 4:
        return []
    first, _, third = statistics.quantiles(numbers, n=4)
    reach = 1.5 * (third - first)
    return [number for number in numbers if not first - reach <= number <= third + reach]


def main():
    arguments = json.load(sys.stdin)
    table = csv.DictReader(io.StringIO(arguments["csv"]), delimiter=arguments["delimiter"])
    column = arguments["column"]
    if column not in (table.fieldnames or []):
        known = ", ".join(table.fieldnames or [])
        sys.exit(f"there is no column {column!r}; there are: {known}")
    numbers, missing, other = numbers_of(table, column)
    outliers = outliers_of(numbers)
    summary = {
        "column": column,
        "count": len(numbers),
        "missing": missing,
        "notNumbers": other,
        "outliers": outliers[: arguments["maximumOutliers"]],
        "outlierCount": len(outliers),
    }
    if numbers:
        summary["minimum"] = min(numbers)
        summary["maximum"] = max(numbers)
        summary["mean"] = statistics.fmean(numbers)
        summary["median"] = statistics.median(numbers)
        summary["standardDeviation"] = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    json.dump(summary, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
