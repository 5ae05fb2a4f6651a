import { describe, expect, test } from 'vitest';
import {
  addressesOf,
  bySpecificity,
  fillPath,
  openApiPath,
  pathParams,
  queryOf,
  routerPath,
} from './paths.ts';

describe('a path template', () => {
  test('names its parameters, its shape and its OpenAPI form', () => {
    const path = '/tenants/:tenant/scopes/:scope/cause/:event';
    expect(pathParams(path)).toEqual(['tenant', 'scope', 'event']);
    expect(routerPath(path)).toBe('/tenants/:p1/scopes/:p3/cause/:p5');
    expect(openApiPath(path)).toBe('/tenants/{tenant}/scopes/{scope}/cause/{event}');
  });

  test('is tried after every template that is literal where it is not', () => {
    const paths = ['/a/:x', '/:y', '/a/b', '/a/:x/c', '/a/b/:z', '/a'];
    expect(paths.sort(bySpecificity)).toEqual(['/a', '/a/b', '/a/b/:z', '/a/:x', '/a/:x/c', '/:y']);
  });

  test('is filled in so that a value stays within its segment', () => {
    expect(fillPath('/a/:x/b', { x: '1/2?#%' }).address).toBe('/a/1%2F2%3F%23%25/b');
    for (const x of ['', '.', '..', undefined, null, {}])
      expect(() => fillPath('/a/:x/b', { x })).toThrow(TypeError);
  });
});

test('two routes that would dispatch identically are refused, naming both', () => {
  const route = { name: 'one', method: 'GET', path: '/a/:x' };
  expect(() => addressesOf([route, { ...route, name: 'two', path: '/a/:y' }])).toThrow(/one and two/);
  expect(addressesOf([route, { ...route, name: 'two', method: 'PUT' }])).toHaveLength(1);
});

test('a query repeats the key of a list, and leaves out what is undefined', () => {
  expect(queryOf({ a: ['1', 2], b: undefined, c: 'x y' })).toBe('?a=1&a=2&c=x+y');
  expect(queryOf({ b: undefined })).toBe('');
});
