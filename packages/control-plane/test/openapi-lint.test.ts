/**
 * The OpenAPI document before two linters, with every rule that they have (design: control-plane, "OpenAPI 3.1"). What
 * stays is in one list, with reasons.
 */
import { adminOperations } from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import type { OpenApiDocument } from '@freehold/operations/openapi';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import core from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { routesOf } from '../src/declared/operations.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import { LINT_EXCEPTIONS, type LintException, RULES_OFF } from './support/lint-exceptions.ts';

const TIMEOUT_MS = 180_000;

interface Finding {
  readonly rule: string;
  readonly at: string;
  readonly message: string;
}

const document = openApiDocument(adminOperations);

async function redocly(source: string): Promise<Finding[]> {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, location: [place], message }) => ({
    rule: ruleId,
    at: placeOf((place?.pointer ?? '#/').slice(2).split('/').map(unescapeToken)),
    message,
  }));
}

async function spectral(source: string): Promise<Finding[]> {
  const linter = new core.Spectral();
  linter.setRuleset({
    extends: [
      [rulesets.oas, 'all'],
      [owasp, 'all'],
    ],
    rules: Object.fromEntries(RULES_OFF.map((rule) => [rule, 'off'])),
  } as never);
  const found = await linter.run(new core.Document(source, parsers.Json, 'openapi.json'));
  return found.map(({ code, path, message }) => ({ rule: String(code), at: placeOf(path), message }));
}

function placeOf(path: readonly (string | number)[]): string {
  return path.join(' > ');
}

/** RFC 6901, section 4. */
function unescapeToken(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Named schemas that a request can hold, through any number of references. */
function requestSchemas({ paths, components }: OpenApiDocument): ReadonlySet<string> {
  const met = new Set<string>();
  const followReference = (part: unknown): void => {
    JSON.stringify(part, (key, value) => {
      const name = key === '$ref' ? String(value).split('/').at(-1) : undefined;
      if (name !== undefined && !met.has(name)) {
        met.add(name);
        followReference(components.schemas[name]);
      }
      return value;
    });
  };
  for (const methods of Object.values(paths))
    for (const { parameters, requestBody } of Object.values(methods))
      followReference([parameters, requestBody]);
  return met;
}

function sidesOf(target: OpenApiDocument) {
  const sent = requestSchemas(target);
  const operations = new Set(
    routesOf(adminOperations).flatMap((address) =>
      [...address.values()].map(({ path }) => openApiPath(path)),
    ),
  );
  return (at: string): readonly LintException['within'][] => {
    const [top, kind = '', ...rest] = at.split(' > ');
    if (top === 'components') {
      const isAnswer =
        kind === 'headers' || kind === 'responses' || (kind === 'schemas' && !sent.has(rest[0] ?? ''));
      return [isAnswer ? 'answers' : 'requests'];
    }
    const beside = top === 'paths' && !operations.has(kind) ? (['beside'] as const) : [];
    return [rest.includes('responses') ? 'answers' : 'requests', ...beside];
  };
}

test(
  'every linter finds nothing that is not excepted, and every exception stands for something',
  async () => {
    const source = JSON.stringify(document);
    const findings = [...(await redocly(source)), ...(await spectral(source))];
    const sides = sidesOf(document);
    const used = new Set<LintException>();
    const left = findings.filter(({ rule, at }) => {
      const excepting = LINT_EXCEPTIONS.filter(
        (each) =>
          each.rule === rule &&
          (each.at?.test(at) ?? true) &&
          (each.within === undefined || sides(at).includes(each.within)),
      );
      for (const each of excepting) used.add(each);
      return excepting.length === 0;
    });
    expect(left.map(({ rule, at, message }) => `${rule} at ${at}: ${message}`)).toEqual([]);
    expect(LINT_EXCEPTIONS.filter((each) => !used.has(each))).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'the linters do find what is wrong',
  async () => {
    const broken = {
      openapi: document.openapi,
      info: { title: 'x' },
      paths: { '/broken': { get: { responses: { 200: { description: 'Without an operationId.' } } } } },
    };
    const source = JSON.stringify(broken);
    expect((await redocly(source)).map(({ rule }) => rule)).toContain('operation-operationId');
    expect((await spectral(source)).map(({ rule }) => rule)).toContain('operation-operationId');
  },
  TIMEOUT_MS,
);
