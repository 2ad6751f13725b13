import { toStored } from '../time.js';

/** The moment of the request, epoch milliseconds; `minute(n)` is n minutes later. */
export const startMs = 1_767_225_600_000;
export const minuteMs = 60_000;
export const minute = (n: number): number => startMs + n * minuteMs;
export const stored = (n: number): string => toStored(minute(n));

export const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
export const digest = digestOf('a');
export const callId = 'tc_aaaaaaaaaaaaaaaaaaaaaaaaaa';
export const firstApproval = 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1';
export const secondApproval = 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_2';
