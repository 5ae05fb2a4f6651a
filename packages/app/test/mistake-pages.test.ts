/** Each code of a mistake has a page, whose examples do what the page says. */
import { readdirSync, readFileSync } from 'node:fs';
import { AppDeclarationError, DECLARATION_CODES, defineApp, MODEL_TABLES, signedIn } from '@freehold/app';
import { MISTAKE_PAGES, mistakeDocuments } from '@freehold/app/mistakes';
import { operation } from '@freehold/kernel';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { shop } from './shop.ts';

type Table = Record<string, unknown>;

/** The rest of the declaration of an example: what an example does not mention is right, and what is optional is absent. */
function rest(): Table {
  const { manifest, migrations, operations, authenticatedPrincipal } = shop();
  const entities = { booking: { read: 'booking.read' } };
  return {
    manifest: { ...manifest, entities },
    migrations: migrations.slice(0, 1),
    operations,
    authenticatedPrincipal,
  };
}

/** The members of an example, as code. */
function evaluated(text: string): Table {
  const names = { operation, z, signedIn, MODEL_TABLES };
  const make = new Function(...Object.keys(names), `return {\n${text}\n};`);
  return make(...Object.values(names)) as Table;
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The members of an example over those of the rest; a schema, a list or a function takes the place of another one. */
function over(below: Table, above: Table): Table {
  const merged = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const known = merged[name];
    merged[name] = isTable(known) && isTable(value) ? over(known, value) : value;
  }
  return merged;
}

function problemsOf(text: string): AppDeclarationError['problems'] {
  try {
    defineApp(over(rest(), evaluated(text)) as never);
    return [];
  } catch (error) {
    if (error instanceof AppDeclarationError) return error.problems;
    throw error;
  }
}

const PAGES = Object.entries(MISTAKE_PAGES);

describe('the page of', () => {
  test.each(PAGES)('%s has a wrong example with that one mistake, and a right one', (code, page) => {
    expect(problemsOf(page.wrong).map((each) => [each.code, each.message])).toEqual([[code, page.says]]);
    expect(problemsOf(page.right)).toEqual([]);
  });

  test.each(PAGES)('%s is the one that its error names', (code, { wrong }) => {
    const [problem] = problemsOf(wrong);
    expect(problem?.page).toBe(`node_modules/@freehold/app/docs/mistakes/${code}.md`);
  });
});

test('each code has its page, and each page its code', () => {
  expect(Object.keys(MISTAKE_PAGES).sort()).toEqual([...DECLARATION_CODES].sort());
  const folder = new URL('../../../docs/mistakes/', import.meta.url);
  const written = new Map(
    readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
  );
  expect(written, 'node packages/app/test/write-mistake-pages.ts').toEqual(
    new Map([...mistakeDocuments()].sort()),
  );
});
