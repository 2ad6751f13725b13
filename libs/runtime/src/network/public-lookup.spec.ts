import type { LookupAddress } from 'node:dns';
import { AddressNotAllowedError, isPublicAddress, privateAddressOf, publicLookup } from './public-lookup.js';
import type { ResolveName } from './public-lookup.js';

describe('an address', () => {
  it.each([...['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700::1111', '2606:2800:220:1::1', '::ffff:8.8.8.8']])(
    'of the internet is public: %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    ...['127.0.0.1', '127.8.8.8', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '169.254.0.1', '100.64.0.1', '100.100.100.200', '192.0.0.192', '198.18.0.1'],
    ...['168.63.129.16', '224.0.0.1', '240.0.0.1', '255.255.255.255', '192.0.2.1', '203.0.113.1'],
    ...['::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '::ffff:10.0.0.1', '::7f00:1'],
    ...['fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1', '2001:db8::1', '::ffff:0:7f00:1'],
    ...['64:ff9b::7f00:1', '64:ff9b:1::1', '2002:7f00:1::', '2001::1', '100::1', '3fff::1', '4000::1'],
    ...['localhost', '', '127.0.0.1.', '0x7f000001'],
  ])('of a machine, a private network or unknown is not: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    ['http://2130706433/', '127.0.0.1'],
    ['http://017700000001/', '127.0.0.1'],
    ['http://0x7f000001/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://127.1/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://0177.0.0.1/', '127.0.0.1'],
    ['http://10.0.0.1/', '10.0.0.1'],
    ['http://169.254.169.254/latest', '169.254.169.254'],
    ['http://[fd00:ec2::254]/', 'fd00:ec2::254'],
    ['http://①②⑦.0.0.1/', '127.0.0.1'],
    ['http://[::1]:80/', '::1'],
    ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
  ])('is seen in a url however it is written: %s', (url, address) => {
    expect(privateAddressOf(new URL(url))).toBe(address);
  });

  it.each(['http://localhost/', 'https://billing.example/', 'http://127.0.0.1.nip.example/'])(
    'is not seen where there is a name: %s',
    (url) => {
      expect(privateAddressOf(new URL(url))).toBeUndefined();
    },
  );

  it.each(['https://8.8.8.8/', 'https://[2606:4700::1111]/'])(
    'is none to keep away from where it is public: %s',
    (url) => {
      expect(privateAddressOf(new URL(url))).toBeUndefined();
    },
  );
});

describe('the look-up of public addresses', () => {
  const ask = (addresses: readonly string[], all: boolean): Promise<unknown[]> => {
    const resolve: ResolveName = (_, __, callback) => {
      callback(
        null,
        addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    return new Promise((done) => publicLookup(resolve)('name.example', { all }, (...answer) => done(answer)));
  };

  it('gives none but the public ones', async () => {
    const both = ['127.0.0.1', '8.8.8.8', '::1'];
    expect(await ask(both, true)).toEqual([null, [{ address: '8.8.8.8', family: 4 }]]);
    expect(await ask(both, false)).toEqual([null, '8.8.8.8', 4]);
  });

  it('fails when there is none', async () => {
    expect(await ask(['10.0.0.1', '::ffff:169.254.169.254'], true)).toEqual([expect.any(AddressNotAllowedError), '']);
    expect(await ask([], false)).toEqual([expect.any(AddressNotAllowedError), '']);
  });

  it('passes on that a name cannot be resolved', async () => {
    const failing: ResolveName = (_, __, callback) => callback(new Error('ENOTFOUND'), []);
    const answer = await new Promise((done) => publicLookup(failing)('x', { all: true }, (error) => done(error)));
    expect(answer).toEqual(new Error('ENOTFOUND'));
  });
});
