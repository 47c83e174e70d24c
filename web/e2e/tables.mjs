// Opens the tables once through Deephaven's JS API and keeps them open, while the test switches generations underneath.
import { expect, openBrowser, please, until } from './stage.mjs';

const { TABLES_URL, VIEWER_KEY } = process.env;

/** Runs in the page: opens and subscribes, and notes in `window.seen` what every update says. */
async function watch({ url, key }) {
  const dh = (await import(`${url}/jsapi/dh-core.js`)).default;
  const client = new dh.CoreClient(url);
  const seen = { problems: [], mixed: 0, updates: 0, generations: [], sizes: [], now: {} };
  const held = [client];
  Object.assign(window, { seen, held });
  const trouble = (what) => (event) => seen.problems.push(`${what}: ${JSON.stringify(event?.detail ?? null)}`);
  client.addEventListener(dh.CoreClient.EVENT_REQUEST_FAILED, trouble('request failed'));
  await client.login({ type: 'io.deephaven.authentication.psk.PskAuthenticationHandler', token: key });
  const connection = await client.getAsIdeConnection();
  for (const event of ['EVENT_DISCONNECT', 'EVENT_SHUTDOWN']) {
    connection.addEventListener(dh.IdeConnection[event], trouble(event));
  }

  async function open(name, onUpdate) {
    const table = await connection.getObject({ type: 'Table', id: btoa(`a/kafka-orchestrator/f/${name}`) });
    for (const event of ['EVENT_DISCONNECT', 'EVENT_REQUEST_FAILED']) {
      table.addEventListener(dh.Table[event], trouble(`${name} ${event}`));
    }
    const subscription = table.createSubscription({ columns: table.columns, updateIntervalMs: 20 });
    subscription.addEventListener('updated', ({ detail }) => onUpdate(detail, table));
    held.push(table, subscription);
  }

  function rowsOf(detail, indices) {
    const rows = [];
    for (const each = indices.iterator(); each.hasNext(); ) {
      rows.push(detail.get(each.next().value));
    }
    return rows;
  }

  for (const name of ['users_ui', 'accounts_ui', 'final_ui']) {
    await open(name, (detail, table) => {
      const generation = table.findColumn('generation');
      const switched = detail.added.size + detail.removed.size > 0;
      const looked = switched ? detail.rows : rowsOf(detail, detail.modified);
      const found = [...new Set(looked.map((row) => row.get(generation).asNumber()))];
      seen.updates += 1;
      seen.mixed += found.length > 1 ? 1 : 0;
      if (found.length === 1) {
        seen.now[name] = { generation: found[0], rows: detail.rows.length };
        if (name === 'final_ui' && seen.generations.at(-1) !== found[0]) {
          seen.generations.push(found[0]);
        }
      }
    });
  }
  await open('orchestrator_status', (detail) => seen.sizes.push(detail.rows.length));
}

const browser = await openBrowser();
try {
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  page.on('pageerror', (error) => console.error(`page: ${error}`));
  // What is tried is the API, not a page: any answer of that server will do, such as that there is no such page.
  await page.goto(`${TABLES_URL}/no-such-page`);
  await page.evaluate(watch, { url: TABLES_URL, key: VIEWER_KEY });
  await until('the status is there', () => page.evaluate(() => window.seen.sizes.length));

  const { switches, last, rows } = await please('switches');

  for (const [name, size] of Object.entries(rows)) {
    await until(
      `${name} shows the last generation, all of it`,
      () => page.evaluate((table) => window.seen.now[table], name),
      (now) => now?.generation === last && now?.rows === size,
    );
  }
  const seen = await page.evaluate(() => window.seen);
  expect(seen.problems.length === 0, `nothing failed or closed: ${seen.problems}`);
  expect(seen.mixed === 0, `none of ${seen.updates} updates shows two generations (${seen.mixed} do)`);
  expect(seen.generations.length >= switches / 2, `the switches were seen: ${seen.generations}`);
  expect(seen.generations.every((g, i) => i === 0 || g > seen.generations[i - 1]), `in order: ${seen.generations}`);
  expect(seen.sizes.length > 0 && seen.sizes.every((size) => size === 1), `the status is one row: ${seen.sizes}`);
  console.log(JSON.stringify({ wish: 'done' }));
} finally {
  await browser.close();
}
