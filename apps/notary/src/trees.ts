import type { LogEvent } from '@countersign/contracts';
import type { Comparison } from './compare-with-trees.js';
import type { NotaryPorts } from './ports.js';
import { firstLeafOf, treeEventOf } from './stored-events.js';
import { openTenantLog } from './tenant-log.js';
import type { Contradiction } from './signed-epochs.js';
import type { TenantLog, TenantLogPorts } from './tenant-log.js';
import { openTenantTree } from './tenant-tree.js';
import type { TenantTree } from './tenant-tree.js';

/** The trees of all tenants. */
export interface Trees {
  /** Opens the trees over a log that ends at this position. */
  readonly open: (head: number) => Promise<void>;
  /** The position of the last event that is in the trees. */
  readonly position: () => number;
  /** Appends events and stores the result. */
  readonly take: (events: readonly LogEvent[]) => void;
  /** Why the log of each tenant contradicts what was signed; empty: nothing does. */
  readonly contradictions: (isWhole: boolean) => readonly Contradiction[];
  /** Whether a tenant has at least so many events that no checkpoint covers. */
  readonly isDue: (unsignedMin: number) => boolean;
  /** Signs a checkpoint for each tenant with at least so many events that none covers. */
  readonly sign: (unsignedMin: number) => Promise<void>;
  /** Whether the log of a tenant waits for the event that says why its next epoch begins. */
  readonly isBeginning: () => boolean;
  /** Learns what other notaries signed for these tenants, and signs nothing. */
  readonly learn: (unsignedMin: number) => Promise<void>;
  /** Whether another notary went on as a later epoch: the trees must be built again. */
  readonly isOutdated: () => boolean;
  /** The newest checkpoint of a tenant, of any epoch. */
  readonly latest: (tenant: string) => string | undefined;
  /** Why nothing can be signed for a tenant, although nothing contradicts. */
  readonly problem: () => string | undefined;
  /** Why nothing is signed for a tenant: its newest checkpoint was signed with another log key. */
  readonly changedKey: (tenant: string) => string | undefined;
  readonly newest: (tenant: string) => string | undefined;
  /** Learns of a checkpoint of this tenant and epoch that is kept elsewhere. */
  readonly hear: (tenant: string, note: string) => void;
  readonly vkeys: (tenant: string) => Promise<readonly string[]>;
  /** The changes of the log key of a tenant, each the proof of its event as JSON. */
  readonly keyChanges: (tenant: string) => readonly string[];
  readonly figures: () => TreeFigures;
  /** The tree of a tenant, and how many of its leaves the newest signed checkpoint covers. */
  readonly signedTree: (tenant: string) => { readonly tree: TenantTree; readonly size: number } | undefined;
  /** The tenants that have a tree. */
  readonly tenants: () => readonly string[];
  /** The trees as they are now, for a comparison with the log. */
  readonly sizedTreeOf: () => Comparison['treeOf'];
}

/** The figures of all trees together. */
export interface TreeFigures {
  /** Events in the trees. */
  readonly size: number;
  /** Events that no checkpoint covers. */
  readonly unsigned: number;
  /** When this process signed last, in ms; undefined: not yet. */
  readonly signedAtMs: number | undefined;
}

/** The trees of a log, continued where their file ends. */
export function createTrees(ports: NotaryPorts & Pick<TenantLogPorts, 'accepted'>): Trees {
  const { store, trees: file, checkpoints, shared } = ports;
  const logs = new Map<string, TenantLog>();
  let base = ports.origin ?? undefined;
  let sizes: ReadonlyMap<string, number> = new Map();
  /** The tenants of which other notaries signed. */
  let others: readonly string[] = [];

  const logOf = (tenant: string, origin: string): TenantLog => {
    const known = logs.get(tenant);
    if (known !== undefined) return known;
    const tree = openTenantTree(file, tenant, sizes.get(tenant) ?? 0);
    const opened = openTenantLog({ ...ports, tenant, tree, base: origin });
    logs.set(tenant, opened);
    return opened;
  };
  const learnOthers = async (): Promise<void> => {
    if (shared === undefined) return;
    others = await shared.tenants();
    if (base !== undefined) for (const tenant of others) await logOf(tenant, base).learn();
  };
  const isOutdated = (): boolean => [...logs.values()].some((log) => log.isOutdated());
  const signedTenants = (): readonly string[] => [...new Set([...checkpoints.tenants(), ...others])];
  const due = (unsignedMin: number): readonly TenantLog[] => [...logs.values()].filter((log) => log.isDue(unsignedMin));
  return {
    open: async (head) => {
      // A log that ends before them was put back to an older state: they are built from what is there.
      if (file.position() > head || ports.acceptsContradiction) file.clear();
      const [first] = head === 0 ? [] : await store.readAll(0, 1);
      if (first !== undefined) base ??= defaultOriginOf(first);
      sizes = file.sizes();
      if (base !== undefined) for (const tenant of sizes.keys()) logOf(tenant, base);
      await learnOthers();
      if (!isOutdated()) return;
      // What was built belongs to a log that is no more. The checkpoints that were learned stay.
      file.clear();
      sizes = file.sizes();
      logs.clear();
      await learnOthers();
    },
    isOutdated,
    latest: (tenant) => logs.get(tenant)?.latest(),
    position: file.position,
    take: (events) => {
      const [first] = events;
      const last = events.at(-1);
      if (first === undefined || last === undefined) return;
      // Without an origin the log was empty, so this is its first event.
      const origin = (base ??= defaultOriginOf(first));
      const touched = new Set<TenantLog>();
      let after = file.position();
      for (const event of events) {
        const found = treeEventOf(event);
        const place = { after, position: event.position };
        after = event.position;
        if (found === undefined) continue;
        const log = logOf(found.tenant, origin);
        log.tree.append(found.leaf, place);
        touched.add(log);
      }
      const changes = [...touched].map(({ tenant, tree }) => ({ tenant, size: tree.size(), tiles: tree.changed() }));
      file.save(last.position, changes);
      for (const { tree } of touched) tree.saved();
    },
    contradictions: (isWhole) => {
      if (base === undefined) {
        const isSigned = signedTenants().length > 0 && !ports.acceptsContradiction;
        const why = 'the log is empty, and checkpoints of it were signed';
        return isWhole && isSigned ? [{ why, isShort: true }] : [];
      }
      if (isWhole) for (const tenant of signedTenants()) logOf(tenant, base);
      return [...logs.values()].map((log) => log.contradiction(isWhole)).filter((found) => found !== undefined);
    },
    isDue: (unsignedMin) => due(unsignedMin).length > 0,
    sign: async (unsignedMin) => {
      for (const log of due(unsignedMin)) await log.sign();
    },
    isBeginning: () => [...logs.values()].some((log) => log.isBeginning()),
    learn: async (unsignedMin) => {
      for (const log of due(unsignedMin)) await log.learn();
    },
    problem: () => [...logs.values()].map((log) => log.problem()).find((why) => why !== undefined),
    figures: () => figuresOf([...logs.values()]),
    changedKey: (tenant) => logs.get(tenant)?.changedKey(),
    newest: (tenant) => logs.get(tenant)?.newest(),
    hear: (tenant, note) => logs.get(tenant)?.hear(note),
    signedTree: (tenant) => {
      const log = logs.get(tenant);
      return log === undefined ? undefined : { tree: log.tree, size: Math.min(log.signed().size, log.tree.size()) };
    },
    tenants: () => [...logs.keys()],
    vkeys: async (tenant) => (await logs.get(tenant)?.vkeys()) ?? [],
    keyChanges: (tenant) => logs.get(tenant)?.keyChanges() ?? [],
    sizedTreeOf: () => {
      const now = new Map([...logs].map(([tenant, { tree }]) => [tenant, { tree, size: tree.size() }]));
      return (tenant) => now.get(tenant);
    },
  };
}

/** The origin of an installation that was given none: no two logs begin with the same event at the same time. */
function defaultOriginOf(first: LogEvent): string {
  return `countersign.invalid/${Buffer.from(firstLeafOf(first)).toString('hex').slice(0, 16)}`;
}

function figuresOf(all: readonly TenantLog[]): TreeFigures {
  const sum = (of: (log: TenantLog) => number): number => all.reduce((total, log) => total + of(log), 0);
  const signedAt = all.map((log) => log.signed().atMs).filter((at) => at !== undefined);
  return {
    size: sum(({ tree }) => tree.size()),
    unsigned: sum((log) => Math.max(0, log.unsigned())),
    signedAtMs: signedAt.length === 0 ? undefined : Math.max(...signedAt),
  };
}
