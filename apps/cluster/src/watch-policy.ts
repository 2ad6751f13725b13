import { policyInForce } from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import type { RoleProcess } from './role-process.js';

const againMs = 30_000;

/**
 * Compares the policy of a process that records none with the one that the gateways have recorded, every 30 seconds. Where they differ it
 * is told once in the log, and until they are the same in `/readyz` and in the metrics. It stays ready: silence alone needs them to be the same.
 * @param onDiffers gets 1 while they differ, and 0.
 */
export async function watchPolicy(
  { clock, log, stopping, check }: Pick<RoleProcess, 'clock' | 'log' | 'stopping' | 'check'>,
  store: Pick<EventStore, 'readStream'>,
  { policies }: Pick<CommandPorts, 'policies'>,
  tenant: string,
  onDiffers: (differs: 0 | 1) => void,
): Promise<void> {
  let note: string | undefined;
  check({ name: 'policy-in-force', check: () => ({ status: 'ok', ...(note === undefined ? {} : { note }) }) });
  while (!stopping.aborted) {
    const own = policies.of(tenant).version;
    // A store that is away keeps the last value: another check tells.
    const inForce = await policyInForce(store, tenant).catch(() => undefined);
    if (inForce !== undefined) {
      const found = inForce === own ? undefined : noteOf(own, inForce);
      if (found !== undefined && note === undefined) log.warn({ own, inForce, tenant }, found);
      note = found;
      onDiffers(found === undefined ? 0 : 1);
    }
    await sleep(clock, againMs, stopping);
  }
}

function noteOf(own: string, inForce: string): string {
  return (
    `this process has the policy ${own}, and ${inForce} is in force: give it the COUNTERSIGN_POLICY of the gateways. ` +
    'Until then silence approves nothing here'
  );
}
