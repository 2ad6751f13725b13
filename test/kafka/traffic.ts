import type { Message, OutgoingMessage } from '@countersign/message-bus';

/** Messages `<key>.<n>` of a number of keys in turns, each id in the header `ce_id`. */
export function inTurns(keys: number, each: number, from = 1): readonly OutgoingMessage[] {
  return Array.from({ length: each }, (_, index) => from + index).flatMap((n) =>
    Array.from({ length: keys }, (_, key) => ({ key: `k${key}`, value: '{}', headers: { ce_id: `k${key}.${n}` } })),
  );
}

export const idOf = (message: Pick<Message, 'headers'>): string => message.headers['ce_id'] ?? '';

/** The numbers of each key in the order in which they were first seen. */
export function firstsByKey(ids: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const firsts = new Map<string, number[]>();
  for (const id of new Set(ids)) {
    const [key = '', n = ''] = id.split('.');
    firsts.set(key, [...(firsts.get(key) ?? []), Number(n)]);
  }
  return firsts;
}

/** The result of `firstsByKey` when nothing was lost and no key lost its order. */
export function expectedByKey(keys: number, each: number): ReadonlyMap<string, readonly number[]> {
  const numbers = Array.from({ length: each }, (_, index) => index + 1);
  return new Map(Array.from({ length: keys }, (_, key) => [`k${key}`, numbers]));
}
