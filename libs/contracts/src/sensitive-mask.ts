import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import type { JsonValue } from './json.js';

const maskPattern = /^\[masked(?: sha256:[0-9a-f]{16})?\]$/;
/** The text in the place of a value whose key was destroyed. It needs no mask. */
export const erasedMark = '[erased]';
/** The text in the place of a value whose key is lost. It needs no mask. */
export const keyMissingMark = '[key missing]';

/** Returns whether a value, or one inside it, is a text that stands for an erased or lost value. */
export function hasUnreadable(value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasUnreadable);
  return value === erasedMark || value === keyMissingMark;
}

const masksWithHash = /\[masked sha256:[0-9a-f]{16}\]/g;

/** Returns whether a value is a mask of a sensitive value. */
export function isMask(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && maskPattern.test(value);
}

/**
 * The mask of a sensitive value: `[masked sha256:…]`, 64 bits of a salted SHA-256. Equal values of one call have equal
 * masks, and the salt prevents guessing. Without a salt the mask has no hash.
 */
export function maskOf(value: JsonValue, salt: string | null): string {
  if (value === erasedMark || value === keyMissingMark) return value;
  if (salt === null) return '[masked]';
  return `[masked sha256:${hash('sha256', `${salt}${canonicalJson(value)}`, 'hex').slice(0, 16)}]`;
}

/** Returns the salt of a place. It is computed where something is masked there, and not before. */
export type PlaceSalt = () => string | null;

/** The salt of a member. With it, equal values at two places have different masks. */
export function saltOfMember(container: PlaceSalt, key: string): PlaceSalt {
  let known: string | null | undefined;
  return () => {
    if (known === undefined) {
      const salt = container();
      known = salt === null ? null : hash('sha256', JSON.stringify([salt, key]), 'hex').slice(0, 32);
    }
    return known;
  };
}

/** All masks with a hash in a text. */
export function masksIn(text: string): readonly string[] {
  return text.match(masksWithHash) ?? [];
}

/** A text whose masks carry no hash. */
export function withoutHashes(text: string): string {
  return text.replaceAll(masksWithHash, '[masked]');
}
