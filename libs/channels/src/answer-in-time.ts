import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { SurfaceResponse } from './surface.js';

/** For a person whose response is not recorded when their vendor wants an answer. */
export const lateWords = 'It takes longer than usual. The card will change when your answer is recorded.';

/** Returns the response of `work`, or that of `late` after `limitMs`; its `done` waits for the work in both cases. */
export async function answerInTime(
  work: Promise<SurfaceResponse>,
  late: () => SurfaceResponse,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): Promise<SurfaceResponse> {
  const isAnswered = new AbortController();
  const orLate = (): SurfaceResponse | Promise<SurfaceResponse> => (isAnswered.signal.aborted ? work : late());
  const { status, body, done } = await Promise.race([work, sleep(clock, limitMs, isAnswered.signal).then(orLate)]);
  isAnswered.abort();
  const allDone = Promise.all([done, work.then((response) => response.done)]);
  return { status, ...(body === undefined ? {} : { body }), done: allDone.then(() => undefined) };
}
