import {
  businessHoursSchema,
  durationMsSchema,
  globProblem,
  isTimeZone,
  parseDurationMs,
} from '@countersign/contracts';
import type { DurationMs } from '@countersign/contracts';
import { z } from 'zod';

/** A duration such as `10m`, in milliseconds. */
export const durationSchema = z.string().transform((text, context): number => {
  const durationMs = parseDurationMs(text);
  if (durationMs !== undefined && durationMsSchema.safeParse(durationMs).success) return durationMs;
  context.addIssue({ code: 'custom', message: `${problemOf(text, durationMs)}: write 30s, 10m, 2h or 3d` });
  return z.NEVER;
});

/** A duration in milliseconds, or `never`. */
export const durationOrNeverSchema = z.string().transform((text, context): DurationMs => {
  const durationMs = text === 'never' ? text : parseDurationMs(text);
  if (durationMs !== undefined && durationMsSchema.safeParse(durationMs).success) return durationMs;
  context.addIssue({ code: 'custom', message: `${problemOf(text, durationMs)}: write 30s, 10m, 2h, 3d or never` });
  return z.NEVER;
});

function problemOf(text: string, durationMs: DurationMs | undefined): string {
  return `"${text}" ${durationMs === undefined ? 'is not a duration' : 'is longer than 10 years'}`;
}

export const globSchema = z.string().superRefine((glob, context) => {
  const problem = globProblem(glob);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: `the glob "${glob}" ${problem}` });
});

/** Refuses a list in which two members have the same id; `problem` says it of the id. */
export function uniqueIds(problem: (id: string) => string) {
  return (members: readonly { readonly id: string }[], context: z.core.$RefinementCtx): void => {
    const seen = new Set<string>();
    members.forEach(({ id }, index) => {
      if (seen.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message: problem(id) });
      seen.add(id);
    });
  };
}

/** The hours in which deadlines count, in a zone that this process knows. */
export const hoursSchema = businessHoursSchema.superRefine(({ zone, days, from, to }, context) => {
  const refuse = (key: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [key], message });
  };
  if (!isTimeZone(zone)) refuse('zone', `"${zone}" is not a time zone: write a name such as Europe/Paris`);
  if (new Set(days).size < days.length) refuse('days', 'names a day twice');
  if (from === to) refuse('to', 'must not be equal to "from": write from "00:00" to "24:00" for the whole day');
});
