import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { createErasures } from '@countersign/gateway';
import type { EventStore } from '@countersign/event-store';
import { createProjector } from '@countersign/projector';
import { openReadModel } from '@countersign/read-model';
import type { FileReadModel } from '@countersign/read-model';
import { actor, callIdOf, prepareErasing, subject } from './testing/erasing.js';

const { clock, ids, log, request, folder, stores } = prepareErasing();

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The read model of another process over the same log: it follows nothing yet. */
async function openBehind(): Promise<FileReadModel> {
  const { store, texts: seal } = stores().vault;
  const readModel = await openReadModel({ file: join(folder(), 'behind.db'), source: store, log, seal });
  closing.push(readModel.close);
  return readModel;
}

function erasuresOf(readModel: FileReadModel) {
  const { vault, commands, readModel: ofOther } = stores();
  const { keys, store } = vault;
  const { raw, settled } = store;
  const rewriteCopies = async (): Promise<void> => {
    for (const copy of [readModel, ofOther]) await copy.rebuild();
  };
  return createErasures({ keys, store, raw, settled, readModel, commands, rewriteCopies, clock, ids, log });
}

/** A store whose subscribers get events only while they are not held. */
function holdable(store: EventStore) {
  let gate = Promise.withResolvers<undefined>();
  const subscribe: EventStore['subscribe'] = (after, { onEvents, ...handler }) =>
    store.subscribe(after, {
      ...handler,
      onEvents: async (events) => {
        await gate.promise;
        await onEvents(events);
      },
    });
  return {
    store: { ...store, subscribe },
    release: () => {
      gate.resolve(undefined);
    },
    hold: () => {
      gate = Promise.withResolvers<undefined>();
    },
  };
}

it('is refused for a call that the read model has not seen yet, since it may be open', async () => {
  const readModel = await openBehind();
  await request('a');
  const erased = await erasuresOf(readModel).erase(actor, { subject }, ids.uuid());
  expect(erased).toMatchObject({
    status: 'refused',
    refusal: { code: 'calls-open', extra: { openCalls: [callIdOf('a')] } },
  });
});

it('waits, when it is forced, until the read model shows the calls that it cancelled', async () => {
  const readModel = await openBehind();
  const { store, release, hold } = holdable(stores().vault.store);
  const projector = createProjector({ store, readModel, clock, log });
  closing.push(projector.stop);
  release();
  await request('a', { needsApproval: true });
  await projector.start();
  hold();
  closing.push(release);
  // The projector goes on only once the erasure waits for it.
  const reached: FileReadModel['reached'] = (...given) => {
    release();
    return readModel.reached(...given);
  };
  const erasures = erasuresOf({ ...readModel, reached });
  expect(await erasures.erase(actor, { subject, force: true }, ids.uuid())).toMatchObject({
    status: 'done',
    value: { status: 'erased', calls: 1, values: 1 },
  });
});
