function turkGetParam(name, otherwise) {
  const value = new URLSearchParams(location.search).get(name);
  return value === null ? (otherwise ?? "") : value;
}
function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", location.origin);
}
function turkSetAssignmentID(formName, buttonName) {
  const assignment = turkGetParam("assignmentId");
  const field = document.getElementById("assignmentId");
  if (field) field.value = assignment;
  const form = document.getElementById(formName ?? "mturk_form");
  if (form) form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
  const button = document.getElementById(buttonName ?? "submitButton");
  if (button && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    button.disabled = true;
    button.value = "You must accept the HIT before you can submit it.";
  }
}
