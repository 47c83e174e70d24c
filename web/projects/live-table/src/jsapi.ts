import type { dh } from '@deephaven/jsapi-types';

/** The Deephaven JS API, as `dh-core.js` exports it. */
export type JsApi = typeof dh;

export type DhTable = dh.Table;
export type DhColumn = dh.Column;
export type DhSort = dh.Sort;
export type DhFilter = dh.FilterCondition;

/** Where a tables server keeps its JS API. */
export const JSAPI_PATH = '/jsapi/dh-core.js';

/**
 * Loads the JS API from the tables server. A browser may remember a failed import for the life of the page, so
 * every attempt after the first asks for a new address.
 */
export async function loadJsApi(server: string, attempt: number): Promise<JsApi> {
  const address = new URL(JSAPI_PATH, server);
  if (attempt > 0) {
    address.searchParams.set('attempt', String(attempt));
  }
  const module = (await import(/* @vite-ignore */ address.href)) as { default: JsApi };
  return module.default;
}
