import type { JsonObject, JsonValue } from '@countersign/contracts';
import { membersOf } from '@countersign/text';
import { exactNumber, inexactNumberIn } from './form/exact-numbers.js';

/** What an answer can be. */
export type AnswerKind = 'text' | 'choice' | 'yes-no' | 'number' | 'json';

/** An answer, or why there is none yet. */
export type Answer =
  | { readonly status: 'ok'; readonly value: JsonValue }
  /** `problem`: empty, while nothing is written. */
  | { readonly status: 'open'; readonly problem: string };

/** Returns the options of a kind that is picked; undefined: it is written. */
export function optionsOf(kind: AnswerKind, choices: readonly JsonValue[]): readonly JsonValue[] | undefined {
  if (kind === 'yes-no') return [true, false];
  return kind === 'choice' ? choices : undefined;
}

/**
 * Returns what a text answers, as the kind that the person has chosen: `42` is a text or a number, never a guess. An option is picked
 * by its value as JSON, so that no other one is sent when the options change.
 */
export function answerOf(kind: AnswerKind, text: string, choices: readonly JsonValue[]): Answer {
  if (text.trim() === '') return { status: 'open', problem: '' };
  switch (kind) {
    case 'text':
      return { status: 'ok', value: text };
    case 'choice':
    case 'yes-no': {
      const value = optionsOf(kind, choices)?.find((option) => JSON.stringify(option) === text);
      return value === undefined ? { status: 'open', problem: '' } : { status: 'ok', value };
    }
    case 'number': {
      const value = exactNumber(text.trim());
      const problem = 'Not a number that can be kept exactly.';
      return value === undefined ? { status: 'open', problem } : { status: 'ok', value };
    }
    case 'json':
      return jsonAnswer(text);
  }
}

function jsonAnswer(text: string): Answer {
  try {
    const value = JSON.parse(text) as JsonValue;
    const inexact = inexactNumberIn(text);
    if (inexact === undefined) return { status: 'ok', value };
    return { status: 'open', problem: `The number ${inexact} cannot be kept exactly. Write it as a text.` };
  } catch (error) {
    return { status: 'open', problem: `Not JSON yet: ${error instanceof Error ? error.message : ''}` };
  }
}

/** Returns whether a text is an object or a list in JSON: the person may mean that instead of the text. */
export function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text) && jsonAnswer(text).status === 'ok';
}

const lists = ['options', 'choices'];
const choicesMax = 50;

/** The answers that the call offers: a list of short values in its arguments, named `options` or `choices`. */
export function choicesIn(args: JsonObject): readonly JsonValue[] {
  const found = membersOf(args, '').find(({ name, value }) => lists.includes(name) && Array.isArray(value));
  const listed = (found?.value ?? []) as readonly JsonValue[];
  const choices = [...new Map(listed.map((one) => [JSON.stringify(one), one])).values()];
  const isShort = choices.every((one) => (typeof one === 'string' ? one.length <= 200 : typeof one !== 'object'));
  return isShort && listed.length <= choicesMax ? choices : [];
}
