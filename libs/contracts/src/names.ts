import type { z } from 'zod';
import { externalIdSchema } from './primitives.js';

/** Characters that no reader sees: joiners, marks of direction, fillers, and symbols without ink. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/u;

/**
 * Returns why a name could look like another one, or undefined. Names of people and groups are compared as they are
 * written, so two that look the same must be the same.
 */
export function lookalikeProblem(name: string): string | undefined {
  const hidden = unseen.exec(name)?.[0].codePointAt(0);
  if (hidden !== undefined) {
    return `contains the invisible character U+${hidden.toString(16).toUpperCase().padStart(4, '0')}; remove it`;
  }
  const normal = name.normalize('NFKC');
  if (normal !== name) return `is not in the normal form NFKC of Unicode; write it as "${normal}"`;
  return name === name.trim() ? undefined : 'begins or ends with a blank; remove it';
}

/** Adds the problem of a name that could look like another one. */
export function refuseLookalike(name: string, context: z.core.$RefinementCtx<string>): void {
  const message = lookalikeProblem(name);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
}

/** The name of a group in a file that an operator writes. */
export const groupSchema = externalIdSchema.superRefine(refuseLookalike);
