import type { ReadinessCheck } from '@countersign/shell';
import type { ProjectorHealth } from './projector.js';

/** Returns whether the read model shows what is recorded. */
export function createProjectorCheck(health: () => ProjectorHealth): ReadinessCheck {
  return {
    name: 'projector',
    check: () => {
      const now = health();
      switch (now.status) {
        case 'ok':
          return { status: 'ok' };
        case 'starting':
          return { status: 'failing', why: 'the read model is catching up' };
        case 'failed':
          return { status: 'failing', why: now.why };
      }
    },
  };
}
