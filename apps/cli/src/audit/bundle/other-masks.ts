import { isMask } from '@countersign/contracts';
import type { JsonObject, JsonValue, LogEventView } from '@countersign/contracts';

/** The views that this version makes of an event: with its masks, and with none but those of sealed values. */
export interface MadeViews {
  readonly masked: LogEventView;
  readonly clear: LogEventView;
}

/** The members that may have hidden values, by the type of the event. Attack: a mask in the place of a decision. */
const hiding: Readonly<Record<string, readonly string[]>> = {
  ToolCallRequested: ['arguments', 'metadata', 'toolSchema'],
  ApprovalResponded: ['arguments', 'output'],
  ExecutionSucceeded: ['output'],
  ExecutionFailed: ['error'],
};

/**
 * Compares the view in a bundle, which was made with other rules of masks, with the event. Returns `masks` where it differs from
 * the view of this version in masks alone, `shows` where it also shows a value that this version masks, and undefined where
 * it says something else than the event.
 */
export function differenceOf(view: LogEventView, { masked, clear }: MadeViews): 'masks' | 'shows' | undefined {
  const [found, made, stored] = [hidingPart(view), hidingPart(masked), hidingPart(clear)];
  if (found === undefined || made === undefined || stored === undefined) return undefined;
  const names = (hiding[masked.type] ?? []).filter((name) => Object.hasOwn(made, name) && Object.hasOwn(found, name));
  const others = Object.fromEntries(names.map((name) => [name, made[name] ?? null]));
  if (!isSame(withPart(view, { ...found, ...others }), masked)) return undefined;
  const differences = names.map((name) =>
    compare(found[name], { made: made[name], clear: stored[name], mayLeaveOut: name === 'toolSchema' }),
  );
  return worst(differences);
}

/** The object that has the members that may hide values. */
function hidingPart({ type, data }: LogEventView): JsonObject | undefined {
  const part = type === 'ApprovalResponded' ? data?.['decision'] : data;
  return isObject(part) ? part : undefined;
}

function withPart(view: LogEventView, part: JsonObject): LogEventView {
  return { ...view, data: view.type === 'ApprovalResponded' ? { ...view.data, decision: part } : part };
}

type Difference = 'masks' | 'shows' | undefined;

function worst(differences: readonly Difference[]): Difference {
  if (differences.includes(undefined)) return undefined;
  return differences.includes('shows') ? 'shows' : 'masks';
}

interface Compared {
  readonly made: JsonValue | undefined;
  readonly clear: JsonValue | undefined;
  /** A masked schema lacks some members. */
  readonly mayLeaveOut: boolean;
}

function compare(found: JsonValue | undefined, { made, clear, mayLeaveOut }: Compared): Difference {
  if (isSame(found, made) || isMask(found)) return 'masks';
  if (isSame(found, clear)) return 'shows';
  if (typeof found === 'string' && typeof clear === 'string') return isMaskedText(found, clear) ? 'shows' : undefined;
  return isContainer(found) && isContainer(clear) ? compareMembers(found, { made, clear, mayLeaveOut }) : undefined;
}

function compareMembers(found: Container, { made, clear, mayLeaveOut }: Compared & { clear: Container }): Difference {
  const isList = Array.isArray(found);
  const names = Object.keys(found);
  const stored = Object.keys(clear).filter((name) => isList || !mayLeaveOut || Object.hasOwn(found, name));
  if (isList !== Array.isArray(clear) || !isSame(names, stored)) return undefined;
  return worst(
    names.map((name) => {
      const inner = { made: memberOf(made, name), clear: memberOf(clear, name), mayLeaveOut };
      return compare(memberOf(found, name), inner);
    }),
  );
}

type Container = JsonObject | readonly JsonValue[];

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (!isContainer(value) || !Object.hasOwn(value, name)) return undefined;
  return (value as JsonObject)[name];
}

/** A mask in a text, with the quotes around it where the text is JSON. */
const maskInText = /\\*"?\[masked(?: sha256:[0-9a-f]{16})?\]\\*"?/;

/** Returns whether a text is another one with masks in place of some of its parts. */
function isMaskedText(found: string, clear: string): boolean {
  const [first = '', ...others] = found.split(maskInText);
  const last = others.pop();
  if (last === undefined || !clear.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const next = clear.indexOf(part, at);
    if (next === -1) return false;
    at = next + part.length;
  }
  return clear.endsWith(last) && clear.length - last.length >= at;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
