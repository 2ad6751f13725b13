import type { JsonObject, JsonValue } from '@countersign/contracts';

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function areEqualObjects(one: JsonObject, other: JsonObject): boolean {
  const entries = Object.entries(one);
  return (
    entries.length === Object.keys(other).length &&
    entries.every(([key, value]) => {
      const counterpart = Object.hasOwn(other, key) ? other[key] : undefined;
      return counterpart !== undefined && areEqualJson(value, counterpart);
    })
  );
}

/** Returns whether two JSON values are equal, independent of the order of members. */
export function areEqualJson(one: JsonValue, other: JsonValue): boolean {
  if (isArray(one) && isArray(other)) {
    return (
      one.length === other.length &&
      one.every((value, index) => {
        const counterpart = other[index];
        return counterpart !== undefined && areEqualJson(value, counterpart);
      })
    );
  }
  return isObject(one) && isObject(other) ? areEqualObjects(one, other) : one === other;
}
