import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeUploadForm } from '../client/upload-form.ts';
import { readUploadForm } from './upload-form.ts';

const TYPE = 'multipart/form-data; boundary=AaB03x';
const META = '--AaB03x\r\ncontent-disposition: form-data; name="meta"\r\n\r\n{"a":1}\r\n';
const FILE = '--AaB03x\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n';

/** A stream of these bytes, cut at these places. */
function cut(all: Uint8Array, places: readonly number[] = []): ReadableStream<Uint8Array> {
  const edges = [0, ...places.map((at) => at % (all.length + 1)).toSorted((a, b) => a - b), all.length];
  const pieces = edges.slice(1).map((end, i) => all.slice(edges[i], end));
  return new ReadableStream({
    pull: (controller) => {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
}

const encode = (text: string) => new TextEncoder().encode(text);
const bytesOf = async (body: ReadableStream<Uint8Array>) =>
  new Uint8Array(await new Response(body).arrayBuffer());

async function read(body: string | Uint8Array, contentType = TYPE, places: readonly number[] = []) {
  const all = typeof body === 'string' ? encode(body) : body;
  const headers = new Headers({ 'content-type': contentType });
  const { meta, file } = await readUploadForm(headers, cut(all, places));
  return { meta, file: new TextDecoder().decode(await bytesOf(file)) };
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was taken'),
    (error: unknown) => error as PlatformError,
  );

test('meta and file are told apart', async () => {
  expect(await read(`${META}${FILE}hello\r\n--AaB03x--\r\n`)).toEqual({ meta: { a: 1 }, file: 'hello' });
});

test.each([
  ['an empty file', `${META}${FILE}\r\n--AaB03x--`, ''],
  [
    'a file of near boundaries',
    `${META}${FILE}\r\n--AaB03\r\n--AaB03y\r\n--AaB03x--\r\n`,
    '\r\n--AaB03\r\n--AaB03y',
  ],
  ['line breaks at its ends', `${META}${FILE}\r\n\r\nx\r\n\r\n--AaB03x--\r\n`, '\r\n\r\nx\r\n'],
  ['what comes after the end', `${META}${FILE}x\r\n--AaB03x--\r\nanything at all\r\n--AaB03x\r\n`, 'x'],
  ['blanks behind a boundary', `${META}${FILE.replace('x\r\n', 'x \t\r\n')}x\r\n--AaB03x--`, 'x'],
  [
    'names without quotes, in any case, after others',
    `${META.replace('name="meta"', 'NAME=meta').replace('content-disposition', 'Content-Disposition')}${FILE}x\r\n--AaB03x--`,
    'x',
  ],
])('%s is read as it is', async (_, body, file) => {
  expect(await read(body)).toEqual({ meta: { a: 1 }, file });
});

test.each([
  ['multipart/form-data; boundary="AaB03x"'],
  ['Multipart/Form-Data;charset=utf-8;Boundary=AaB03x'],
])('%s is taken', async (type) => {
  expect((await read(`${META}${FILE}x\r\n--AaB03x--`, type)).file).toBe('x');
});

describe('what is no such form', () => {
  test.each([['application/json'], ['multipart/mixed; boundary=AaB03x'], ['']])(
    'of type %j is 415',
    async (type) => {
      expect(await refusal(read(`${META}${FILE}x\r\n--AaB03x--`, type))).toMatchObject({
        code: 'unsupported_media_type',
        headers: { accept: 'multipart/form-data' },
      });
    },
  );

  test.each([
    ['no boundary named', `${META}${FILE}x\r\n--AaB03x--`, 'form_malformed', 'multipart/form-data'],
    [
      'a boundary that can be none',
      `${META}${FILE}x\r\n--AaB03x--`,
      'form_malformed',
      `multipart/form-data; boundary="${'a'.repeat(71)}"`,
    ],
    [
      'another boundary',
      `${META}${FILE}x\r\n--AaB03x--`,
      'form_malformed',
      'multipart/form-data; boundary=other',
    ],
    ['a preamble', `hello\r\n${META}${FILE}x\r\n--AaB03x--`, 'form_malformed'],
    ['text behind a boundary', `${META.replace('x\r\n', 'xyz\r\n')}${FILE}x\r\n--AaB03x--`, 'form_malformed'],
    ['no fields', '--AaB03x--\r\n', 'form_fields'],
    ['no file', `${META}--AaB03x--`, 'form_fields'],
    ['the file first', `${FILE}x\r\n${META}--AaB03x--`, 'form_fields'],
    [
      'another field before the file',
      `${META}${META.replace('"meta"', '"more"')}${FILE}x\r\n--AaB03x--`,
      'form_fields',
    ],
    ['meta twice', `${META}${META}${FILE}x\r\n--AaB03x--`, 'form_fields'],
    ['a field after the file', `${META}${FILE}x\r\n${META}--AaB03x--`, 'form_fields'],
    ['a field without a name', `${META.replace('; name="meta"', '')}${FILE}x\r\n--AaB03x--`, 'form_fields'],
    [
      'a name that is inside of another one’s quotes',
      `${META.replace('name="meta"', 'filename="; name=meta"')}${FILE}x\r\n--AaB03x--`,
      'form_fields',
    ],
    [
      'an attachment instead of a field',
      `${META.replace('form-data', 'attachment')}${FILE}x\r\n--AaB03x--`,
      'form_fields',
    ],
    [
      'headers that are none',
      `${META.replace('content-disposition:', 'content-disposition')}${FILE}x\r\n--AaB03x--`,
      'form_malformed',
    ],
    [
      'a field that is encoded',
      `${META}${FILE.replace('\r\n\r\n', '\r\ncontent-transfer-encoding: base64\r\n\r\n')}eA==\r\n--AaB03x--`,
      'form_malformed',
    ],
    ['headers without end', `--AaB03x\r\n${'a: b\r\n'.repeat(2_000)}`, 'form_malformed'],
    ['meta that is no JSON', `${META.replace('{"a":1}', 'a=1')}${FILE}x\r\n--AaB03x--`, 'body_not_json'],
    ['meta that is no object', `${META.replace('{"a":1}', '[]')}${FILE}x\r\n--AaB03x--`, 'body_not_object'],
  ])('because of %s is 400', async (_, body, reason, type = TYPE) => {
    expect(await refusal(read(body, type))).toMatchObject({ code: 'validation_failed', reason });
  });

  test('because of a large meta is 413, however it comes', async () => {
    const large = META.replace('{"a":1}', `{"a":"${'x'.repeat(17_000)}"}`);
    for (const places of [[], [100, 5_000, 16_500]])
      expect(await refusal(read(`${large}${FILE}x\r\n--AaB03x--`, TYPE, places))).toMatchObject({
        code: 'payload_too_large',
      });
    expect(await refusal(read(`${META.slice(0, -2)}${'x'.repeat(100_000)}`))).toMatchObject({
      code: 'payload_too_large',
    });
  });

  test('a compressed one is 415', async () => {
    const headers = new Headers({ 'content-type': TYPE, 'content-encoding': 'gzip' });
    await expect(readUploadForm(headers, cut(encode(META)))).rejects.toMatchObject({
      code: 'unsupported_media_type',
    });
  });
});

describe('whatever pieces it comes in', () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    // Bytes that look like the end of the file.
    fc
      .array(fc.constantFrom('\r', '\n', '-', '--', '\r\n--AaB03', 'x', 'AaB03x', '\0'), { maxLength: 60 })
      .map((parts) => encode(parts.join('').replaceAll('\r\n--AaB03x', ''))),
  );

  test('a file comes out as it went in', async () => {
    await fc.assert(
      fc.asyncProperty(content, fc.array(fc.nat(900), { maxLength: 12 }), async (bytes, places) => {
        // The pieces together may spell the boundary.
        fc.pre(!new TextDecoder('latin1').decode(bytes).includes('\r\n--AaB03x'));
        const all = new Uint8Array([...encode(`${META}${FILE}`), ...bytes, ...encode('\r\n--AaB03x--\r\n')]);
        const headers = new Headers({ 'content-type': TYPE });
        const { meta, file } = await readUploadForm(headers, cut(all, places));
        expect(meta).toEqual({ a: 1 });
        expect(await bytesOf(file)).toEqual(bytes);
      }),
      { numRuns: 300 },
    );
  });

  test('one that is cut short is refused, wherever', async () => {
    const whole = `${META}${FILE}hello\r\n--AaB03x--`;
    for (let end = 0; end < whole.length; end++) {
      const error = await refusal(read(whole.slice(0, end), TYPE, [end >> 1]));
      expect(error).toBeInstanceOf(PlatformError);
      expect(error.code).toBe('validation_failed');
      if (end > META.length + FILE.length) expect(error.reason).toBe('body_incomplete');
    }
  });

  test('what the client writes, and what the platform’s FormData writes, is read', async () => {
    await fc.assert(
      fc.asyncProperty(
        content,
        fc.json(),
        fc.array(fc.nat(900), { maxLength: 5 }),
        async (bytes, json, places) => {
          const meta = { filename: 'Résumé "1"\r\n.pdf', json };
          const written = writeUploadForm(meta, cut(bytes, places), (count) => new Uint8Array(count).fill(7));
          const form = new FormData();
          form.append('meta', JSON.stringify(meta));
          form.append('file', new Blob([bytes.slice()]), 'a "b"\r\n; name="meta".pdf');
          const native = new Response(form);
          for (const { mediaType, body } of [
            written,
            {
              mediaType: native.headers.get('content-type') ?? '',
              body: native.body as ReadableStream<Uint8Array>,
            },
          ]) {
            const read = await readUploadForm(new Headers({ 'content-type': mediaType }), body);
            expect(read.meta).toEqual(meta);
            expect(await bytesOf(read.file)).toEqual(bytes);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('the platform’s own reader understands what the client writes', async () => {
    const { mediaType, body } = writeUploadForm({ a: 'é' }, cut(encode('hello')), (n) => new Uint8Array(n));
    const form = await new Response(body, { headers: { 'content-type': mediaType } }).formData();
    expect(JSON.parse(String(form.get('meta')))).toEqual({ a: 'é' });
    expect(await (form.get('file') as File).text()).toBe('hello');
  });
});

test('a file is read no faster than it is taken, and nothing of it is kept', async () => {
  let pulled = 0;
  const head = encode(`${META}${FILE}`);
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        controller.enqueue(pulled++ === 0 ? head : new Uint8Array(65_536));
      },
    },
    { highWaterMark: 0 },
  );
  const { file } = await readUploadForm(new Headers({ 'content-type': TYPE }), endless);
  expect(pulled).toBe(1);
  const reader = file.getReader();
  for (let i = 0; i < 20; i++) {
    const { value } = await reader.read();
    expect(value?.byteLength).toBeLessThanOrEqual(65_536);
  }
  expect(pulled).toBeLessThanOrEqual(22);
});
