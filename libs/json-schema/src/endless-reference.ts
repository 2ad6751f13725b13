import type { SchemaRefusal } from './prepared-schema.js';
import type { SchemaNode } from './schema-node.js';

/** A schema that refers to itself without descending into the value: to evaluate it would never end. */
export function findEndlessReference({ nodes }: { readonly nodes: readonly SchemaNode[] }): SchemaRefusal | null {
  // Repeatedly removes schemas without references; the rest forms cycles.
  const waiting = new Map<SchemaNode, number>();
  const leadingTo = new Map<SchemaNode, SchemaNode[]>();
  for (const node of nodes) {
    const next = new Set([...node.parts.always, ...node.parts.sometimes]);
    waiting.set(node, next.size);
    for (const one of next) leadingTo.set(one, [...(leadingTo.get(one) ?? []), node]);
  }
  const done = nodes.filter((node) => waiting.get(node) === 0);
  for (let node = done.pop(); node !== undefined; node = done.pop()) {
    waiting.delete(node);
    for (const before of leadingTo.get(node) ?? []) {
      const left = (waiting.get(before) ?? 0) - 1;
      waiting.set(before, left);
      if (left === 0) done.push(before);
    }
  }
  const [endless] = waiting.keys();
  return endless === undefined
    ? null
    : { pointer: endless.pointer, reason: 'refers to itself without descending into the value' };
}
