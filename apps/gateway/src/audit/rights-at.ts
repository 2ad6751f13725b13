import type { CredentialRights, RecordedEvent, RightsOfProcess, SystemEventData } from '@countersign/contracts';

/** Folds the record of who had which rights. */
export interface RightsFold {
  readonly take: (event: RecordedEvent) => void;
  readonly all: () => readonly RightsOfProcess[];
}

/** Creates a fold over `ConfigurationChanged`. Each process records the tokens that it was configured with. */
export function createRightsFold(): RightsFold {
  const rights = new Map<string, RightsOfProcess>();
  return {
    take: ({ type, data }) => {
      if (type !== 'ConfigurationChanged') return;
      const { configures, processId, added, changed, removed } = data as SystemEventData<'ConfigurationChanged'>;
      if (configures !== 'tokens') return;
      const keyOf = ({ credential = '' }: CredentialRights): string => JSON.stringify([processId, credential]);
      for (const one of removed) rights.delete(keyOf(one));
      for (const one of [...added, ...changed]) {
        const { rights: _digest, ...what } = one;
        rights.set(keyOf(one), { processId, ...what });
      }
    },
    all: () => [...rights.values()],
  };
}
