import { describe, expect, it } from '@jest/globals';
import { parseOrigins } from './cors.js';

describe('the list of origins', () => {
  it.each([
    ['https://desk.example.com', ['https://desk.example.com']],
    [' https://a.example , http://localhost:5173,', ['https://a.example', 'http://localhost:5173']],
    ['HTTPS://Desk.Example:443/', ['https://desk.example']],
    ['https://a.example,https://a.example/', ['https://a.example']],
    ['http://[::1]:3000,https://bücher.example', ['http://[::1]:3000', 'https://xn--bcher-kva.example']],
    [' ', []],
  ])('is taken as browsers write origins: %j', (list, origins) => {
    expect(parseOrigins(list)).toEqual(origins);
  });

  it.each([
    ['*', /has a \*/],
    ['https://*.example.com', /has a \*/],
    ['null', /such as/],
    ['desk.example.com', /such as/],
    ['https://desk.example.com/path', /such as/],
    ['https://desk.example.com/?a', /such as/],
    ['https://ann@desk.example.com', /such as/],
    ['file:///home', /such as/],
    ['https://a.example https://b.example', /such as/],
    ['https://a.example;https://b.example', /such as/],
  ])('is refused with the remedy: %j', (list, remedy) => {
    expect(parseOrigins(list)).toEqual({ wrong: expect.stringMatching(remedy) as unknown });
  });
});
