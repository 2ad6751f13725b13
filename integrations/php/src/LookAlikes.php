<?php

declare(strict_types=1);

namespace Countersign;

/**
 * Letters and signs that only look like those of ASCII, such as a Cyrillic `е` in `/еtc/hosts`. The rule is that of the ledger's own cards: one is
 * marked inside a word with Latin letters, and in a text whose only foreign letters are look-alikes, but not in an honest Russian or Greek word.
 */
final class LookAlikes
{
    /** The usual ones, not all, and the letters and digits of a fixed width of mathematics. */
    private const ONES = '⁄∕․꞉∣∗∼‐‑‚ꞌЗͿϜϹаеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳոսօցհԼՏՍՕ\x{1d670}-\x{1d6a3}\x{1d7f6}-\x{1d7ff}';
    /** Any of them. Before a word the low one is an honest quotation mark of German. */
    public const ANY = '(?!(?<![\p{L}\p{M}\p{N}])‚)[' . self::ONES . ']';
    private const LATIN = '/[\p{Latin}\x{1d670}-\x{1d6a3}\x{1d7f6}-\x{1d7ff}]/u';
    private const FOREIGN = '[\p{Cyrillic}\p{Greek}\p{Armenian}]';

    /**
     * Returns the places in bytes of those that pose. The text between two quotation marks is also judged by itself, so that an honest value does not hide
     * the next one.
     *
     * @return array<int, true>
     */
    public static function in(string $text): array
    {
        $found = [];
        if (preg_match('/[' . self::ONES . ']/u', $text) === 1) {
            self::judge($text, 0, $found);
            self::each('[^"]+', $text, function (string $part, int $start) use (&$found) {
                self::judge($part, $start, $found);
            });
        }
        return $found;
    }

    /** @param array<int, true> $found */
    private static function judge(string $text, int $start, array &$found): void
    {
        // Signs alone, as in `5∕3`.
        if (preg_match('/' . self::FOREIGN . '/u', $text) !== 1 && preg_match(self::LATIN, $text) !== 1) {
            return;
        }
        if (preg_match('/(?![' . self::ONES . '])' . self::FOREIGN . '/u', $text) !== 1) {
            self::add(self::ANY, $text, $start, $found);
            return;
        }
        self::each('[\p{L}\p{M}\p{N}' . self::ONES . ']+', $text, function (string $word, int $at) use ($start, &$found) {
            // A word without Latin letters poses only as a number.
            if (preg_match(self::LATIN, $word) === 1) {
                self::add(self::ANY, $word, $start + $at, $found);
            } elseif (preg_match('/[0-9]/', $word) === 1) {
                self::add('З', $word, $start + $at, $found);
            }
        });
    }

    /** @param array<int, true> $found */
    private static function add(string $pattern, string $text, int $start, array &$found): void
    {
        self::each($pattern, $text, function (string $one, int $at) use ($start, &$found) {
            $found[$start + $at] = true;
        });
    }

    /** Attack: a megabyte of matches, each as an array. Here one lives at a time. */
    private static function each(string $pattern, string $text, callable $see): void
    {
        preg_replace_callback("/$pattern/u", fn (array $found) => (string) $see(...$found[0]), $text, flags: PREG_OFFSET_CAPTURE);
    }
}
