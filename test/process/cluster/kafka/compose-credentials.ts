import type { Machine } from './compose-processes.js';

/** The output of `docker compose run --rm show-credentials`. */
export interface Credentials {
  readonly tokens: { readonly agent: string; readonly me: string; readonly worker: string };
  readonly kafka: {
    readonly sasl: { readonly mechanism: 'plain'; readonly username: string; readonly password: string };
    readonly signing: { readonly kid: string; readonly privateKey: string };
  };
}

/** Runs the service that prints them. */
export async function credentialsOf(machine: Machine): Promise<Credentials> {
  return JSON.parse(await machine.runToEnd('show-credentials')) as Credentials;
}
