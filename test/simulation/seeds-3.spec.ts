import { simulateShare } from './seeds.ts';

simulateShare(2);
