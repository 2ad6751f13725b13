<?php

declare(strict_types=1);

namespace Countersign;

use BackedEnum;
use DateTimeInterface;
use InvalidArgumentException;
use JsonException;
use JsonSerializable;
use stdClass;

/**
 * JSON as the ledger reads it. Objects stay objects, so that `{}` is never `[]`, and a number is the double that the ledger has.
 */
final class Json
{
    /** Doubles tell all integers up to it apart. */
    public const INTEGER_MAX = 2 ** 53 - 1;

    /** @internal Code that reads objects of PHP, `json_encode` included, would go on without such a member. */
    public const HIDDEN_NAME = 'The name of a member begins with U+0000, and PHP cannot hand it on.';

    private const DEPTH_MAX = 1024;

    /**
     * Reads the text of a model or a person.
     *
     * @throws JsonException for a text that is no JSON
     * @throws InvalidArgumentException for a number that a double cannot hold, such as an id of 19 digits: another one would be meant
     */
    public static function decode(string $text): mixed
    {
        $value = json_decode($text, false, self::DEPTH_MAX, JSON_THROW_ON_ERROR);
        JsonNumber::requireExact($text);
        return $value;
    }

    /**
     * @internal Reads an answer of the ledger, in which an integer of 16 digits and more is the print of a double.
     * @throws JsonException for a text that is no JSON
     */
    public static function answer(string $text): mixed
    {
        try {
            $value = json_decode($text, false, self::DEPTH_MAX, JSON_THROW_ON_ERROR);
        } catch (JsonException $error) {
            // PHP refuses a member name that begins with U+0000, and another agent may have recorded one.
            $value = $error->getCode() === JSON_ERROR_INVALID_PROPERTY_NAME ? self::withAnyNames($text) : throw $error;
        }
        return preg_match('/\d{16}/', $text) === 1 ? self::rounded($value) : $value;
    }

    /** Reads each name behind a letter, and takes the letter away again. */
    private static function withAnyNames(string $text): mixed
    {
        $marked = preg_replace_callback(
            '/"(?:[^"\\\\]++|\\\\.)*+"(\s*+:)?/',
            fn (array $found) => isset($found[1]) ? '"n' . substr($found[0], 1) : $found[0],
            $text,
        );
        return self::unmarked(json_decode((string) $marked, false, self::DEPTH_MAX, JSON_THROW_ON_ERROR));
    }

    private static function unmarked(mixed $value): mixed
    {
        if (is_array($value)) {
            return array_map(self::unmarked(...), $value);
        }
        if (!$value instanceof stdClass) {
            return $value;
        }
        $members = [];
        foreach (get_object_vars($value) as $name => $one) {
            $members[substr($name, 1)] = self::unmarked($one);
        }
        return (object) $members;
    }

    /**
     * Returns the text of a value, with the members in their order. A float has the shortest text that is read back as the same float,
     * whatever `serialize_precision` says.
     *
     * @throws InvalidArgumentException for NaN, infinite numbers, strings that are no UTF-8, closures and resources
     */
    public static function encode(mixed $value): string
    {
        return self::write($value, false, 0);
    }

    /**
     * Returns the form of RFC 8785.
     *
     * @throws InvalidArgumentException like `encode`, for integers beyond 2^53, which have no such form, and for names that begin with U+0000
     */
    public static function canonical(mixed $value): string
    {
        return self::write($value, true, 0);
    }

    /** @internal Whether code in PHP gets all of a value that was read. */
    public static function isWhole(mixed $value): bool
    {
        try {
            self::canonical($value);
            return true;
        } catch (InvalidArgumentException) {
            return false;
        }
    }

    /** Returns `sha256:` and the hex SHA-256 over the RFC 8785 form. */
    public static function digest(mixed $value): string
    {
        return 'sha256:' . hash('sha256', self::canonical($value));
    }

    /** Returns the value with each integer beyond 2^53 as the nearest double, as the ledger has it. */
    public static function rounded(mixed $value): mixed
    {
        if (is_int($value)) {
            return abs($value) > self::INTEGER_MAX ? (float) $value : $value;
        }
        if (is_array($value)) {
            return array_map(self::rounded(...), $value);
        }
        if (!$value instanceof stdClass) {
            return $value;
        }
        return (object) array_map(self::rounded(...), (array) $value);
    }

    /** Returns objects as arrays, for code that wants arrays. `{}` becomes `[]`: never send the result back. */
    public static function toArray(mixed $value): mixed
    {
        return match (true) {
            $value instanceof stdClass => array_map(self::toArray(...), (array) $value),
            is_array($value) => array_map(self::toArray(...), $value),
            default => $value,
        };
    }

    private static function write(mixed $value, bool $isCanonical, int $depth): string
    {
        if ($depth > self::DEPTH_MAX) {
            throw new InvalidArgumentException('The value is nested more than ' . self::DEPTH_MAX . ' levels deep.');
        }
        return match (true) {
            $value === null => 'null',
            is_bool($value) => $value ? 'true' : 'false',
            is_int($value) => self::integer($value, $isCanonical),
            is_float($value) => $isCanonical ? JsonNumber::canonical($value) : JsonNumber::exact($value),
            is_string($value) => self::string($value),
            is_array($value) && array_is_list($value) => self::items($value, $isCanonical, $depth + 1),
            is_array($value) => self::members($value, $isCanonical, $depth + 1),
            $value instanceof JsonSerializable => self::write($value->jsonSerialize(), $isCanonical, $depth + 1),
            $value instanceof BackedEnum => self::write($value->value, $isCanonical, $depth + 1),
            $value instanceof DateTimeInterface => self::string($value->format('Y-m-d\TH:i:s.vP')),
            // `get_object_vars` has no member whose name begins with U+0000.
            $value instanceof stdClass => self::members((array) $value, $isCanonical, $depth + 1),
            is_object($value) && !$value instanceof \Closure => self::members(get_object_vars($value), $isCanonical, $depth + 1),
            default => throw new InvalidArgumentException('JSON has no ' . get_debug_type($value) . '.'),
        };
    }

    private static function integer(int $value, bool $isCanonical): string
    {
        if ($isCanonical && abs($value) > self::INTEGER_MAX) {
            throw new InvalidArgumentException("The integer $value is beyond 2^53, so it has no RFC 8785 form. Pass it as a string.");
        }
        return (string) $value;
    }

    private static function string(string $value): string
    {
        try {
            return json_encode(
                $value,
                JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS,
            );
        } catch (JsonException $error) {
            throw new InvalidArgumentException('A string is no UTF-8. JSON cannot carry it.', 0, $error);
        }
    }

    /** @param list<mixed> $items */
    private static function items(array $items, bool $isCanonical, int $depth): string
    {
        return '[' . implode(',', array_map(fn (mixed $item) => self::write($item, $isCanonical, $depth), $items)) . ']';
    }

    /** @param array<int|string, mixed> $members */
    private static function members(array $members, bool $isCanonical, int $depth): string
    {
        // PHP makes an integer of a name such as "10".
        $names = array_map(strval(...), array_keys($members));
        $values = array_combine($names, array_values($members));
        if ($isCanonical) {
            usort($names, fn (string $a, string $b) => strcmp(self::inUtf16Order($a), self::inUtf16Order($b)));
        }
        $texts = [];
        foreach ($names as $name) {
            if ($isCanonical && str_starts_with($name, "\0")) {
                throw new InvalidArgumentException(self::HIDDEN_NAME);
            }
            $texts[] = self::string($name) . ':' . self::write($values[$name], $isCanonical, $depth);
        }
        return '{' . implode(',', $texts) . '}';
    }

    /**
     * RFC 8785 sorts by the code units of UTF-16. The bytes of UTF-8 sort alike, but for U+E000 to U+FFFF (lead bytes EE and EF): in
     * UTF-16 they come after the surrogate pairs, which UTF-8 begins with F0 to F4.
     */
    private static function inUtf16Order(string $name): string
    {
        return strtr($name, "\xEE\xEF", "\xF5\xF6");
    }
}
