import { z } from 'zod';

/** A time as stored and returned: RFC 3339, UTC, milliseconds. These strings sort by time. */
export const timeSchema = z.iso.datetime({ precision: 3 });

/** SHA-256, as it is written in digests and policy versions. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits');

/** No control characters and no line separators. */
const plainText = new RegExp(String.raw`^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$`);

/** The same in two parts for documents: generated clients may read `pattern` as bytes, and skip `not`. */
const plainTextWords = {
  pattern: String.raw`^[^\x00-\x1f\x7f]*$`,
  not: { type: 'string', pattern: String.raw`[\u0080-\u009f\u2028\u2029]` },
};

/** The id of a tool call, as the model or its gateway gave it: some put signatures of the model into it. */
export const toolCallIdSchema = z
  .string()
  .min(1)
  .max(2048)
  .regex(plainText, 'must not contain control characters')
  .meta(plainTextWords);

/** A client's id: 1 to 256 characters without control characters. */
export const externalIdSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(plainText, 'must not contain control characters')
  .meta(plainTextWords);

/** In the path of a URL every client resolves these two as folders, so no request could read or cancel such a run. */
const unreachableIds = ['.', '..'];

/** The id of a run that is about to be recorded. */
export const newRunIdSchema = externalIdSchema
  .refine((id) => !unreachableIds.includes(id), { error: 'must not be "." or ".."' })
  .meta({ not: { anyOf: [plainTextWords.not, { enum: unreachableIds }] } });

/** A boolean as a parameter of a query. */
export const booleanTextSchema = z.enum(['true', 'false']).meta({ id: 'BooleanText' });

/** A free text for people, at most 8,192 characters. */
export const textSchema = z.string().max(8192);

/** A character that a reader sees: no blank, no control, no mark of direction, no filler, no symbol without ink. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/u;

/** Returns whether a text shows a reader nothing. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}

const blankError = 'must not be blank';
/** A free text with a character that a reader sees. The pattern is what a JSON schema can say of it. */
export const shownTextSchema = textSchema
  .regex(/\S/, { error: blankError, abort: true })
  .refine((text) => !isBlank(text), blankError);

export const decisionTypes = ['approve', 'edit', 'deny', 'answer'] as const;
/** A person's possible decisions. */
export type DecisionType = (typeof decisionTypes)[number];
export const decisionTypeSchema = z.enum(decisionTypes).meta({ id: 'DecisionType' });

export const batchModes = ['independent', 'all-or-nothing', 'sequential'] as const;
/**
 * The batch mode: the calls of one model step are independent, run all or not at all, or take their turn one after another
 * with the other sequential calls of their run.
 */
export type BatchMode = (typeof batchModes)[number];
export const batchModeSchema = z.enum(batchModes).meta({ id: 'BatchMode' });

const assuranceLevels = ['low', 'medium', 'high'] as const;
/** How strongly a channel authenticated the person. */
export type Assurance = (typeof assuranceLevels)[number];
export const assuranceSchema = z.enum(assuranceLevels).meta({ id: 'Assurance' });

const riskLevels = ['low', 'medium', 'high'] as const;
/** The risk that a rule names; shown and measured. */
export type Risk = (typeof riskLevels)[number];
export const riskSchema = z.enum(riskLevels).meta({ id: 'Risk' });

/** A length of time in milliseconds, or `never`, which must be written out. At most 10 years. */
export const durationMsSchema = z
  .union([z.int().min(1).max(315_576_000_000), z.literal('never')], {
    error: 'must be a whole number of milliseconds, at most 10 years, or "never"',
  })
  .meta({ id: 'DurationMs', description: 'Milliseconds, at most 10 years, or `never`.' });
/** A length of time in milliseconds, or `never`. */
export type DurationMs = number | 'never';
