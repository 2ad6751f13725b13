import type { SchemaNode } from './schema-node.js';

/**
 * The schemas that refer to themselves without descending into the value, or lead from one such to another: to evaluate
 * them would never end.
 */
export function findEndlessReferences(nodes: readonly SchemaNode[]): ReadonlySet<SchemaNode> {
  const next = new Map(nodes.map((node) => [node, [...new Set([...node.parts.always, ...node.parts.sometimes])]]));
  const before = new Map<SchemaNode, SchemaNode[]>(nodes.map((node) => [node, []]));
  for (const [node, parts] of next) for (const part of parts) before.get(part)?.push(node);
  const left = withoutEnds(new Set(nodes), next, before);
  return withoutEnds(left, before, next);
}

/** Removes, again and again, what leads to nothing that is left. The rest leads to cycles. */
function withoutEnds(
  all: ReadonlySet<SchemaNode>,
  next: ReadonlyMap<SchemaNode, readonly SchemaNode[]>,
  before: ReadonlyMap<SchemaNode, readonly SchemaNode[]>,
): ReadonlySet<SchemaNode> {
  const left = new Map([...all].map((node) => [node, next.get(node)?.filter((one) => all.has(one)).length ?? 0]));
  const ends = [...left].filter(([, count]) => count === 0).map(([node]) => node);
  for (let node = ends.pop(); node !== undefined; node = ends.pop()) {
    left.delete(node);
    for (const one of before.get(node) ?? []) {
      const count = left.get(one);
      if (count === undefined) continue;
      left.set(one, count - 1);
      if (count === 1) ends.push(one);
    }
  }
  return new Set(left.keys());
}
