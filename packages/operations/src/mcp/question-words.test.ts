/** The words of a question: whole, short, and in characters that change nothing beside them. */
import { describe, expect, test } from 'vitest';
import { questionWords } from './question-words.ts';

const operation = { summary: 'Erase a tenant', name: 'tenants.reap' };
const linesOf = (facts: object) => questionWords(operation, facts).split('\n');

describe('spec C-09: the words of a question', () => {
  test('name the operation, then each fact', () => {
    const facts = {
      backup: true,
      slug: 'acme',
      counts: { pushTokens: 2, scopes: 0 },
      key: null,
      stays: false,
    };
    expect(linesOf(facts)).toEqual([
      'Erase a tenant (tenants.reap)?',
      '',
      'backup: yes',
      'slug: acme',
      'counts push tokens: 2',
      'counts scopes: 0',
      'key: none',
      'stays: no',
    ]);
  });

  test('count what is too much for a question', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(linesOf({ hostnames: names, none: [], scopes: [{ id: 'scp_1' }] }).slice(2)).toEqual([
      'hostnames: a, b, c, d, e and 2 more',
      'none: none',
      'scopes: {"id":"scp_1"}',
    ]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`n${index}`, index]));
    expect(linesOf(many).at(-1)).toBe('and 10 more lines');
    expect(linesOf({ name: 'x'.repeat(300) })[2]).toHaveLength('name: '.length + 201);
  });

  test('cannot be changed by a name: it begins no line, and turns no text around', () => {
    expect(linesOf({ name: 'Acme\nscopes: 0\u202e', slug: 'a' }).slice(2)).toEqual([
      'name: Acme scopes: 0 ',
      'slug: a',
    ]);
  });
});
