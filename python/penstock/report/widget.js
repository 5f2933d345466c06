/** The report page in a frame of its own: its styles and its address are not those of the notebook. */
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = `Report of ${model.get("name")}`;
    frame.sandbox = "allow-scripts allow-downloads";
    frame.style.cssText = "width: 100%; border: 0; border-radius: 8px";
    const show = () => (frame.srcdoc = model.get("page"));
    const size = () => (frame.style.height = `${model.get("height")}px`);
    show();
    size();
    model.on("change:page", show);
    model.on("change:height", size);
    el.append(frame);
  },
};
