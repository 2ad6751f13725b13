/** How one thing that a process stands on is; `note`: what a person may want to know of it all the same. */
export type CheckResult =
  { readonly status: 'ok'; readonly note?: string } | { readonly status: 'failing'; readonly why: string };

/** One thing that has to be well before the process may be given work. */
export interface ReadinessCheck {
  readonly name: string;
  readonly check: () => CheckResult | Promise<CheckResult>;
}

/** What `/readyz` answers: every check by name, so that it says what is not ready. */
export interface Readiness {
  readonly status: 'ready' | 'not-ready';
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** Asks every check; one that throws is failing, and says why. */
export async function askReadiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const results = await Promise.all(checks.map(async (each) => [each.name, await ask(each)] as const));
  const isReady = results.every(([, { status }]) => status === 'ok');
  return { status: isReady ? 'ready' : 'not-ready', checks: Object.fromEntries(results) };
}

async function ask({ check }: ReadinessCheck): Promise<CheckResult> {
  try {
    const result = await check();
    return result.status === 'ok' ? result : { status: 'failing', why: withoutPlaces(result.why) };
  } catch (error) {
    return { status: 'failing', why: withoutPlaces(error instanceof Error ? error.message : String(error)) };
  }
}

const places = [
  /\b[a-z][\w+.-]*:\/\/\S+/gi,
  /\[[\da-f:.%]*:[\da-f:.%]*\](?::\d+)?|(?<![\w:.])(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}(?![\w:])/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g,
  /\b[a-z\d][\w.-]*:\d{2,5}\b/gi,
  /(?<=^|[\s"'(=:])\/[^\s"'():,;]+/g,
];

/**
 * Leaves out addresses and paths. `/readyz` may be public, and errors of clients name the hosts, ports and files behind it;
 * the log has them.
 */
function withoutPlaces(why: string): string {
  return places.reduce((text, place) => text.replaceAll(place, '[hidden]'), why);
}
