import { setTimeout as sleep } from 'node:timers/promises';
import type { Http, HttpAnswer, HttpRequest } from '../harness/http.js';

/** A busy machine may be killed several times before it gets to a request. */
const patienceMs = 600_000;
/** Expected of a process that is stopping or starting; any other 5xx is a fault of ours. */
const unavailable = 503;

/**
 * Sends a request, and retries it after a broken connection or a 5xx, like a careful client: returns the first response
 * below 500. `onFault` receives responses that a kill does not explain.
 */
export async function sendPersistently(
  http: Http,
  request: HttpRequest,
  onFault: (what: string) => void,
): Promise<HttpAnswer> {
  const giveUpAt = performance.now() + patienceMs;
  for (let tries = 1; ; tries += 1) {
    const answer = await http.send(request).catch(() => undefined);
    if (answer !== undefined && answer.status < 500) return answer;
    if (answer !== undefined && answer.status !== unavailable) {
      onFault(`${request.method} ${request.path} answered ${answer.status}: ${answer.text.slice(0, 500)}`);
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`no answer to ${request.method} ${request.path} in ${patienceMs} ms and ${tries} tries`);
    }
    await sleep(Math.min(5 * tries, 40));
  }
}
