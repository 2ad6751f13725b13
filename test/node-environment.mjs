// Jest runs a spec in a realm of its own, so an error of Node's own modules (ENOENT and the like) is no instance of that
// realm's Error, which it is in production. Here it is one again; subclasses keep their own meaning.
import { types } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';

const ordinary = Function.prototype[Symbol.hasInstance];

export default class extends TestEnvironment {
  async setup() {
    await super.setup();
    const ErrorOfRealm = this.global.Error;
    Object.defineProperty(ErrorOfRealm, Symbol.hasInstance, {
      value(candidate) {
        return this === ErrorOfRealm && types.isNativeError(candidate) ? true : ordinary.call(this, candidate);
      },
    });
  }
}
