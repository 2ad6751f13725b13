import type { ToolGating } from './tool-definition.js';

/** A table, so that no option of a gate is forgotten. */
const gating: Readonly<Record<keyof ToolGating<unknown>, true>> = {
  needsApproval: true,
  approvalPrompt: true,
  idempotent: true,
  toolTimeoutMs: true,
  expiresInMs: true,
  allowedDecisions: true,
  labels: true,
};

/** The options of an adapter's `gatedTool`, besides those of the gate. */
export interface OptionTable<F extends string> {
  /** The adapter uses these itself. */
  readonly own: readonly string[];
  /** These reach the framework unchanged. */
  readonly forwarded: readonly F[];
  /** The framework has these, and they cannot be kept; the value says why. */
  readonly refused: Readonly<Record<string, string>>;
}

/**
 * Returns the options that reach the framework. Throws a TypeError for any other that is not in the table: an option that
 * is dropped in silence may have switched the tool off.
 */
export function forwardedOptions<F extends string, O extends { readonly [M in F]?: unknown }>(
  toolName: string,
  options: O,
  { own, forwarded, refused }: OptionTable<F>,
): Pick<O, F> {
  const reasons = new Map(Object.entries(refused));
  const taken = new Set<string>([...Object.keys(gating), ...own, ...forwarded]);
  const given = Object.entries<unknown>(options).filter(([, value]) => value !== undefined);
  for (const [member] of given) {
    if (taken.has(member)) continue;
    const why = reasons.get(member) ?? 'it is no option of it';
    throw new TypeError(`tool ${toolName}: gatedTool does not take \`${member}\`: ${why}`);
  }
  const passed = new Set<string>(forwarded);
  return Object.fromEntries(given.filter(([member]) => passed.has(member))) as Pick<O, F>;
}
