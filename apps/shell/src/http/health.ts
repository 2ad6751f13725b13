/** The state of one dependency of a process; `note`: extra information for a person. */
export type CheckResult =
  { readonly status: 'ok'; readonly note?: string } | { readonly status: 'failing'; readonly why: string };

/** One check that must pass before the process is ready. */
export interface ReadinessCheck {
  readonly name: string;
  readonly check: () => CheckResult | Promise<CheckResult>;
}

/** The body of `/readyz`: every check by name, so that it shows what is not ready. */
export interface Readiness {
  readonly status: 'ready' | 'not-ready';
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** Runs every check; one that throws counts as failing, with its message. */
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
 * Removes addresses and paths. `/readyz` may be public, and errors of clients name hosts, ports and files; the log has
 * them.
 */
export function withoutPlaces(why: string): string {
  return places.reduce((text, place) => text.replaceAll(place, '[hidden]'), why);
}
