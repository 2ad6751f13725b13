import { jest } from '@jest/globals';
import { crashPoint, createCrashPoint } from './crash-point.js';

describe('a crash point', () => {
  it('does nothing when it is not armed', () => {
    crashPoint('append.before-commit');
    const die = jest.fn();
    createCrashPoint(undefined, die)('append.before-commit');
    expect(die).not.toHaveBeenCalled();
  });

  it('dies at the named point alone, and at its n-th passing', () => {
    const die = jest.fn();
    const point = createCrashPoint('append.after-commit:2', die);
    point('append.before-commit');
    point('append.after-commit');
    expect(die).not.toHaveBeenCalled();
    point('append.after-commit');
    expect(die).toHaveBeenCalledTimes(1);
  });

  it('dies by a signal that nothing can catch', () => {
    const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
    createCrashPoint('here')('here');
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
  });
});
