import type { CheckName, Finding, VerificationEnd } from '@countersign/audit';
import { printable } from '@countersign/text';
import type { Output } from '../invocation.js';
import type { Line } from '../view/line.js';
import type { StampedEvents } from './timestamps.js';

/** The checks of a verification and its findings. */
export interface VerifyReport {
  readonly onFinding: (finding: Finding) => void;
  /** Prints the result. */
  readonly end: (
    end: VerificationEnd & { readonly tenant: string },
    checks: readonly CheckName[],
    about?: string,
    stamped?: readonly StampedEvents[],
  ) => void;
}

/** Without `all` it prints the first finding of each check. */
export function createVerifyReport(output: Pick<Output, 'print' | 'printJson'>, all: boolean): VerifyReport {
  const first = new Map<CheckName, Finding>();
  const counts = new Map<CheckName, number>();
  const print = (finding: Finding): void => {
    const { check, ok, index, eventId, stream, detail } = finding;
    output.printJson({ check, ok, index, eventId, stream, detail });
    output.print({ text: `  ${wordsOf(finding)}`, tone: 'red' });
  };
  return {
    onFinding: (finding) => {
      const { check } = finding;
      counts.set(check, (counts.get(check) ?? 0) + 1);
      if (all) print(finding);
      const known = first.get(check);
      if (known === undefined || finding.index < known.index) first.set(check, finding);
    },
    end: (end, checks, about = '', stamped = []) => {
      const findings = [...first.values()].sort((one, other) => one.index - other.index);
      output.print(...headline(end, counts, about));
      if (!all) findings.forEach(print);
      for (const check of checks) {
        if (!first.has(check)) output.printJson({ check, ok: true, ...nowhere, detail: okWords[check] });
      }
      for (const one of all ? stamped : stamped.slice(-1)) {
        const detail = stampWords(one, all ? 0 : stamped.length - 1);
        output.printJson({ check: 'time', ok: true, ...nowhere, detail });
        output.print({ text: `  ${printable(detail)}` });
      }
      output.print(...end.unproven.map((text): Line => ({ text: `  not proven: ${printable(text)}` })));
      output.printJson({ summary: summaryOf(end) });
    },
  };
}

const nowhere = { index: null, eventId: null, stream: null };

const okWords: Readonly<Record<CheckName, string>> = {
  read: 'every event is well-formed',
  store: 'every event is what the store recorded, and the chain of hashes is whole',
  body: 'every content is the one of its entry',
  files: 'the files are those of the manifest, and say what the events say',
  order: 'no revision is missing, and neither a revision nor an id is there twice',
  legal: 'every event is legal for its stream',
  digest: 'the digests are those of their content',
  policy: 'the versions of policies are the hashes of their content',
  signature: 'the checkpoints are signed by a key that you trust',
  tree: 'the tree of the log is the one of its newest checkpoint',
  time: 'the time stamps are of checkpoints of this log',
  since: 'the log still has every event of the checkpoint that was kept',
};

/** @param others how many more time stamps count, which are not shown. */
function stampWords({ size, time, signer }: StampedEvents, others: number): string {
  const more = others === 0 ? '' : `; ${String(others)} more before it (--all)`;
  return `the first ${String(size)} events existed before ${time}, says ${signer}${more}`;
}

function summaryOf(end: VerificationEnd & { readonly tenant: string }) {
  const { exit, tenant, origin, epoch, size, root, unproven, continued } = end;
  const before = continued.map((one) => ({ ...one, root: base64(one.root) }));
  const rest = before.length === 0 ? {} : { continued: before };
  return { exit, tenant, origin, epoch, size, root: base64(root), unproven, ...rest };
}

function headline(
  { exit, tenant, size, root, proven, continued }: VerificationEnd & { readonly tenant: string },
  counts: ReadonlyMap<CheckName, number>,
  about: string,
): readonly Line[] {
  const log = `${printable(about)}${String(size)} events of tenant "${printable(tenant)}", root ${base64(root)}`;
  const epochs = continued.map(({ epoch, size: signed, eventId }): Line => ({
    text: `  epoch ${String(epoch)} ended after ${String(signed)} events; the log goes on${eventId === null ? '' : `, and event ${printable(eventId)} says why`}`,
  }));
  const failed = [...counts].map(([check, count]) => `${check} ${String(count)}`).join(', ');
  const words: Readonly<Record<typeof exit, Line>> = {
    0: { text: `Proven: ${proven === size ? '' : `the first ${String(proven)} of `}${log}.`, tone: 'green' },
    1: { text: `NOT PROVEN: ${log}. Findings: ${failed}.`, tone: 'red' },
    3: { text: `Consistent with itself, and nothing from outside vouches for it: ${log}.`, tone: 'yellow' },
  };
  return [words[exit], ...epochs];
}

function wordsOf({ check, index, eventId, stream, detail }: Finding): string {
  const event = eventId === null ? '' : ` (event ${eventId}, ${stream ?? 'no stream'})`;
  return printable(`${check}: index ${String(index)}${event}: ${detail}`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
