/** The contract of removing a unit, and of units with `copies: 'none'`. */
import { describe, expect, test } from 'vitest';
import type { OpenUnit } from './tools.ts';
import { secretUnit, toolsUnit } from './tools-units.ts';

export function removeContract(openUnit: OpenUnit): void {
  describe('remove', () => {
    test('takes the unit away with all that was kept of it; a later one of its name is new', async () => {
      const { unit, tools, key, engine, reopen } = await openUnit();
      await tools.snapshot({ id: 'snp_1' });
      const call = unit.run({ sql: "INSERT INTO loose VALUES ('asked before', 1)" });
      await tools.remove();
      await call;
      const unknown = { code: 'not_found', reason: 'unknown_unit' };
      const stub = engine.unit(toolsUnit, key);
      await expect(stub.contents()).rejects.toMatchObject(unknown);
      await expect(tools.export('ndjson')).rejects.toMatchObject(unknown);
      await expect((await reopen()).unit(toolsUnit, key).contents()).rejects.toMatchObject(unknown);
      const again = await reopen();
      expect(await again.unit(toolsUnit, key, { create: true }).all({ sql: 'SELECT * FROM item' })).toEqual(
        [],
      );
      expect(await again.tools(toolsUnit, key).snapshots()).toEqual([]);
      if (!again.capabilities.rewind) return;
      const page = await again.tools(toolsUnit, key).bookmarks({ limit: 100 });
      expect(page.items.length).toBeLessThanOrEqual(2);
    });

    test('done twice is done once, and other units stay', async () => {
      const { unit, tools, engine } = await openUnit();
      const before = await unit.contents();
      const other = engine.unit(toolsUnit, 'other', { create: true });
      await other.run({ sql: 'INSERT INTO loose VALUES (1, 1)' });
      const otherTools = engine.tools(toolsUnit, 'other');
      await otherTools.remove();
      await otherTools.remove();
      await engine.tools(toolsUnit, 'never').remove();
      expect(await unit.contents()).toEqual(before);
      expect((await tools.snapshots()).length).toBe(0);
    });
  });

  describe('a unit of which nothing may be kept', () => {
    test('works, and refuses whatever would keep something', async () => {
      const { engine } = await openUnit();
      const unit = engine.unit(secretUnit, 'secret', { create: true });
      await unit.put({ value: 'the key' });
      const tools = engine.tools(secretUnit, 'secret');
      const refusal = { code: 'unsupported', reason: 'unit_has_no_copies' };
      await expect(tools.export('ndjson')).rejects.toMatchObject(refusal);
      await expect(tools.restore('ndjson', new Blob(['']).stream())).rejects.toMatchObject(refusal);
      await expect(tools.snapshot({ id: 'snp_1' })).rejects.toMatchObject(refusal);
      await expect(tools.snapshots()).rejects.toMatchObject(refusal);
      await expect(tools.openSnapshot('snp_1')).rejects.toMatchObject(refusal);
      await expect(tools.removeSnapshot('snp_1')).rejects.toMatchObject(refusal);
      await expect(tools.bookmarks({ limit: 1 })).rejects.toMatchObject(refusal);
      await expect(tools.rewind({ atMs: 0 })).rejects.toMatchObject(refusal);
      const limits = { rowsMax: 1, bytesMax: 1_000, timeMs: 1_000 };
      await expect(tools.inspect({ sql: 'SELECT 1', params: [], ...limits })).rejects.toMatchObject(refusal);
      expect(await unit.list()).toEqual(['the key']);
      await tools.remove();
      await expect(engine.unit(secretUnit, 'secret').list()).rejects.toMatchObject({
        reason: 'unknown_unit',
      });
    });
  });
}
