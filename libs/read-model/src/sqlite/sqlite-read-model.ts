import type { LogEvent } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { ReadModel } from '../read-model.js';
import type { LogSource } from '../log-source.js';
import { createAppliedFeed } from './applied-feed.js';
import { assertContinues, catchUp, fresh } from './catch-up.js';
import type { OnProgress } from './catch-up.js';
import { discard, openDatabase } from './database.js';
import type { RowSeal } from './database.js';
import { createEngine } from './engine.js';
import type { Engine } from './engine.js';
import { asTarget, handOver, openScratch, rebuildReadModel } from './rebuild.js';
import type { RebuildReport } from './rebuild.js';
import { defaultBounds } from './working-set.js';
import type { Bounds } from './working-set.js';

/** The options of opening a read model. */
export interface ReadModelOptions {
  /** The SQLite file, which is created when it is missing. Only one process writes it. */
  readonly file: string;
  readonly source: LogSource;
  readonly log: Log;
  readonly onProgress?: OnProgress | undefined;
  readonly bounds?: Partial<Bounds> | undefined;
  /** Encrypts the rows of calls with sensitive values; needed where the source has sealed events. */
  readonly seal?: RowSeal | undefined;
}

/** A read model in a file, which can be rebuilt while it serves. */
export interface FileReadModel extends ReadModel, Pick<Engine, 'isListedBy' | 'callsBetween'> {
  /**
   * Replays the log from zero next to the live file, then switches over within one turn of the event loop. Listeners
   * get no old events again.
   */
  readonly rebuild: (onProgress?: OnProgress) => Promise<RebuildReport>;
}

/**
 * Opens the read model and brings it to the head of the log. A damaged file, or one of another version, is deleted and
 * rebuilt.
 * @throws LogRewoundError when the log is not the one that the file was built from, or has lost its end.
 */
export async function openReadModel(options: ReadModelOptions): Promise<FileReadModel> {
  const { source, onProgress } = options;
  const engine = await openWithRows(options, await source.head());
  try {
    // Asked again: where others write the log, it has grown while the rows were built.
    const head = await source.head();
    await assertContinues(source, engine.checkpoint(), head);
    await catchUp(asTarget(engine), source, head, onProgress);
    return createReadModel(engine, options);
  } catch (error) {
    engine.close();
    throw error;
  }
}

function openFile({ file, log, bounds, seal }: ReadModelOptions): Engine {
  return createEngine(openDatabase(file, log, seal), { ...defaultBounds, ...bounds }, seal);
}

/** An empty file is built separately: several times as fast as in place. */
async function openWithRows(options: ReadModelOptions, head: number): Promise<Engine> {
  const engine = openFile(options);
  if (head === 0 || engine.checkpoint().position > 0) return engine;
  engine.close();
  await rebuildReadModel(options);
  return openFile(options);
}

function createReadModel(opened: Engine, options: ReadModelOptions): FileReadModel {
  let engine = opened;
  /** The events of each `apply` while a rebuild is about to switch over. */
  let missed: LogEvent[] | undefined;
  const feed = createAppliedFeed(() => engine.checkpoint().position, options.log);

  const apply = (recorded: readonly LogEvent[]): void => {
    const before = engine.checkpoint().position;
    const events = fresh(recorded, before);
    if (events.length === 0) return;
    missed?.push(...events);
    const changed = new Set<string>();
    try {
      engine.apply(events, changed);
    } finally {
      // When the file could not be written, what was folded is visible all the same: say so before the error does.
      const { position } = engine.checkpoint();
      const applied =
        position === events.at(-1)?.position ? events : events.filter((event) => event.position <= position);
      if (position > before) feed.publish({ events: applied, callIds: [...changed], position });
    }
  };

  return {
    checkpoint: () => engine.checkpoint().position,
    apply,
    reached: feed.reached,
    onApplied: feed.onApplied,
    isListedBy: (row) => engine.isListedBy(row),
    callsBetween: (...between) => engine.callsBetween(...between),
    toolCall: (tenant, callId) => engine.toolCall(tenant, callId),
    requesterOf: (tenant, callId) => engine.requesterOf(tenant, callId),
    approval: (tenant, approvalId) => engine.approval(tenant, approvalId),
    run: (tenant, runId) => engine.run(tenant, runId),
    runBytes: (tenant, runId) => engine.runBytes(tenant, runId),
    openCallsOfRun: (tenant, runId) => engine.openCallsOfRun(tenant, runId),
    openCallsInside: (tenant, callId) => engine.openCallsInside(tenant, callId),
    pendingOf: (...of) => engine.pendingOf(...of),
    denialsInARow: (...of) => engine.denialsInARow(...of),
    callsOfBatch: (...of) => engine.callsOfBatch(...of),
    factsOfRun: (...of) => engine.factsOfRun(...of),
    placeInRun: (...of) => engine.placeInRun(...of),
    listApprovals: (tenant, query) => engine.listApprovals(tenant, query),
    listCalls: (tenant, query) => engine.listCalls(tenant, query),
    listRuns: (tenant, query) => engine.listRuns(tenant, query),
    grants: {
      live: (...given) => engine.grants.live(...given),
      liveCount: (...given) => engine.grants.liveCount(...given),
      ofRun: (...given) => engine.grants.ofRun(...given),
      find: (...given) => engine.grants.find(...given),
      list: (...given) => engine.grants.list(...given),
    },
    unreadable: {
      find: (stream) => engine.unreadable.find(stream),
      all: () => engine.unreadable.all(),
    },
    due: (atMs, limit) => engine.due(atMs, limit),
    nextDueAt: () => engine.nextDueAt(),
    firstInQueueOf: (tenant, callId) => engine.firstInQueueOf(tenant, callId),
    turnsToTake: () => engine.turnsToTake(),
    turnsHeld: () => engine.turnsHeld(),
    stats: () => engine.stats(),
    tenantsAsked: () => engine.tenantsAsked(),
    tenants: () => engine.tenants(),
    pendingSince: (atMs) => engine.pendingSince(atMs),
    places: {
      before: (time) => engine.places.before(time),
      upTo: (position) => engine.places.upTo(position),
    },
    blocks: { next: (...given) => engine.blocks.next(...given) },
    flush: () => {
      engine.flush();
    },
    close: () => {
      feed.close();
      engine.close();
    },
    rebuild: async (onProgress) => {
      const { file, source, seal } = options;
      const beside = `${file}.rebuild`;
      const shadow = openScratch(beside, seal);
      try {
        // Never beyond the live model: its listeners must still get what it has not applied.
        let events = await catchUp(asTarget(shadow), source, engine.checkpoint().position, onProgress);
        missed = [];
        events += await catchUp(asTarget(shadow), source, engine.checkpoint().position, onProgress);
        asTarget(shadow).apply(missed);
        const { position } = shadow.checkpoint();
        shadow.close();
        engine.close();
        handOver(beside, file);
        engine = openFile(options);
        return { events: events + missed.length, position };
      } finally {
        missed = undefined;
        shadow.close();
        discard(beside);
      }
    },
  };
}
