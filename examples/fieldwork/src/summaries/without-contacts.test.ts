/** Text that leaves the platform for a summary has no name, address or number of a person. */
import { describe, expect, test } from 'vitest';
import { makeWithoutContacts } from './without-contacts.ts';

const clean = makeWithoutContacts({
  names: ['Erika Müller-Öz', '+49 30 1234', null],
  places: ['Lindenstraße 17', '10969', 'Bad Berka', null],
});

describe('a text without contacts', () => {
  test.each([
    ['Boiler of Erika Müller-Öz', 'Boiler of [customer]'],
    ['Ask Mrs MÜLLER about it', 'Ask Mrs [customer] about it'],
    ['At lindenstraße 17, second door', 'At [address], second door'],
    ['The Lindenstraße is closed', 'The [address] is closed'],
    ['10969 Bad Berka', '[address] [address]'],
    ['Call +49 (0)30 / 12 34 56-78 first', 'Call [number] first'],
    ['Mail to erika.m@example.org.', 'Mail to [e-mail]'],
  ])('%s', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  test.each(['Boiler, 24 kW, built 1998', 'Two valves at 12 bar', 'Müllerei and Badezimmer'])(
    'leaves words of no person: %s',
    (text) => {
      expect(clean(text)).toBe(text);
    },
  );

  test('is not misled by what a name looks like', () => {
    const odd = makeWithoutContacts({ names: ['A.*B (C) [d] $& \\'], places: ['', '  '] });
    expect(odd('For A.*B (C) [d] $& \\ and no other')).toBe('For [customer] and no other');
    expect(odd('AxxB')).toBe('AxxB');
  });
});
