import { simulateShare } from './seeds.ts';

simulateShare(1);
