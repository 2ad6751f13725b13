<?php

declare(strict_types=1);

namespace Countersign;

use InvalidArgumentException;
use JsonException;
use stdClass;

/** A call as the agent requests it. PHP writes `{}` and `[]` alike; here each becomes what JSON means. */
final class Call
{
    private const SETTLED = ['succeeded', 'failed', 'denied', 'blocked', 'expired', 'cancelled', 'unknown'];
    /** Keywords whose value maps names to schemas. */
    private const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'];
    /** Keywords whose value is a schema. */
    private const SCHEMAS = ['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'];
    /** Keywords whose value lists schemas. */
    private const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];

    /** @return list<string> the states that come before this end of a wait */
    public static function openStates(string $until): array
    {
        return $until === 'decided' ? ['awaiting_approval'] : ['awaiting_approval', 'allowed', 'approved', 'executing'];
    }

    public static function isSettled(object $call): bool
    {
        return in_array($call->state, self::SETTLED, true);
    }

    /** Whether a schema names a member, in `properties` or `patternProperties`. */
    public static function isNamed(string $name, array|object|null $schema): bool
    {
        $schema = (array) $schema;
        $patterns = array_map(fn (int|string $one) => '~' . str_replace('~', '\~', (string) $one) . '~u', array_keys((array) ($schema['patternProperties'] ?? [])));
        return array_key_exists($name, (array) ($schema['properties'] ?? []))
            || array_filter($patterns, fn (string $pattern) => @preg_match($pattern, $name) === 1) !== [];
    }

    /**
     * Returns the call with its arguments, schema and metadata as JSON means them. Members that are null are left out.
     *
     * @param array<string, mixed> $call
     * @return array<string, mixed>
     */
    public static function normal(array $call): array
    {
        $call = array_filter($call, fn (mixed $value) => $value !== null);
        if (isset($call['toolSchema'])) {
            $call['toolSchema'] = self::schema($call['toolSchema']);
        }
        if (isset($call['metadata'])) {
            $call['metadata'] = self::object('metadata', $call['metadata']);
        }
        if (isset($call['labels']) && $call['labels'] === []) {
            $call['labels'] = new stdClass();
        }
        $call['arguments'] = self::fitted(self::object('arguments', $call['arguments'] ?? []), $call['toolSchema'] ?? null);
        return $call;
    }

    /** @param mixed $value a string is the JSON text of a model, whose `{}` and `[]` it keeps apart */
    private static function object(string $name, mixed $value): object
    {
        try {
            $object = match (true) {
                is_string($value) => Json::decode($value === '' ? '{}' : $value),
                $value === [] => new stdClass(),
                default => json_decode(Json::encode($value), false, 1024, JSON_THROW_ON_ERROR),
            };
        } catch (JsonException $error) {
            $why = $error->getCode() === JSON_ERROR_INVALID_PROPERTY_NAME ? Json::HIDDEN_NAME : 'the text is no JSON.';
            throw new InvalidArgumentException("$name: $why", 0, $error);
        }
        return is_object($object) ? $object : throw new InvalidArgumentException("$name: it must be a JSON object: an array with names.");
    }

    /** Returns the value with `{}` in place of each `[]` where the schema wants an object. */
    private static function fitted(mixed $value, mixed $schema): mixed
    {
        if (!$schema instanceof stdClass) {
            return $value;
        }
        if ($value === [] && ($schema->type ?? null) === 'object') {
            return new stdClass();
        }
        if (is_array($value)) {
            return array_map(fn (mixed $item) => self::fitted($item, $schema->items ?? null), $value);
        }
        if ($value instanceof stdClass && ($schema->properties ?? null) instanceof stdClass) {
            foreach (get_object_vars($value) as $name => $one) {
                $value->{$name} = self::fitted($one, $schema->properties->{$name} ?? null);
            }
        }
        return $value;
    }

    /** Returns a schema with `{}` in place of each `[]` where JSON Schema wants an object. */
    private static function schema(mixed $schema): mixed
    {
        if ($schema === []) {
            return new stdClass();
        }
        if (!is_array($schema) && !$schema instanceof stdClass || is_array($schema) && array_is_list($schema)) {
            return $schema;
        }
        $members = new stdClass();
        foreach ((array) $schema as $name => $value) {
            $members->{$name} = match (true) {
                in_array($name, self::SCHEMA_MAPS, true) => (object) array_map(self::schema(...), (array) $value),
                in_array($name, self::SCHEMAS, true) => self::schema($value),
                in_array($name, self::SCHEMA_LISTS, true) && is_array($value) => array_map(self::schema(...), $value),
                default => $value,
            };
        }
        return $members;
    }
}
